//! The push parser: reads bytes in pieces of any size, and returns jobs.

use super::error::SwfError;
use super::notes::{Note, Notes, Reason};
use super::number::is_blank;
use super::options::{Invalid, SwfOptions};
use super::parts::{Parts, Place, says_all};
use super::record::{Refusal, Row, SwfRecord};

/// A longer line is neither a job nor a comment; it is never kept in memory.
const LONGEST_LINE: usize = 1 << 20;
/// Limits on the comments, in bytes, and on the notes per reason. Jobs cost more memory than their notes, so only lines
/// that are not jobs can reach the limit.
const MOST_COMMENTS: usize = 1 << 24;
const MOST_NOTES: u64 = 1 << 20;
/// The limits of a streaming reader, which uses constant memory.
const MOST_STREAMED_COMMENTS: usize = 1 << 20;
const MOST_STREAMED_NOTES: u64 = 10;
/// Memory of a comment in addition to its bytes, so that empty comments count too.
const COMMENT_COST: usize = 64;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a log that arrives in pieces.
///
/// Memory: the unfinished line (at most 1 MiB), and the comments and notes up to a limit. The parser is unusable after
/// an error.
#[derive(Clone, Debug)]
pub struct SwfParser {
    options: SwfOptions,
    most_jobs: u64,
    most_comments: usize,
    unfinished: Vec<u8>,
    /// True if the unfinished line exceeds the limit; only its beginning is kept.
    overlong: bool,
    lines: u64,
    rows: u64,
    kept: u64,
    latest_submission: f64,
    parts: Parts,
    comments: Vec<String>,
    comments_size: usize,
    notes: Notes,
}

impl SwfParser {
    /// Creates a parser that keeps 16 MiB of comments, and per reason the count and the first 2^20 notes.
    #[must_use]
    pub fn new(options: SwfOptions) -> Self {
        Self {
            options,
            most_jobs: u64::MAX,
            most_comments: MOST_COMMENTS,
            unfinished: Vec::new(),
            overlong: false,
            lines: 0,
            rows: 0,
            kept: 0,
            latest_submission: 0.0,
            parts: Parts::default(),
            comments: Vec::new(),
            comments_size: 0,
            notes: Notes::limited_to(MOST_NOTES),
        }
    }

    /// Creates a parser of bounded memory: it keeps 1 MiB of comments, and per reason the count and the first 10 notes.
    #[must_use]
    pub fn streaming(options: SwfOptions) -> Self {
        Self {
            most_comments: MOST_STREAMED_COMMENTS,
            notes: Notes::limited_to(MOST_STREAMED_NOTES),
            ..Self::new(options)
        }
    }

    /// Makes the parser stop after this number of kept jobs: it ignores what follows.
    #[must_use]
    pub fn stop_after(self, most_jobs: u64) -> Self {
        Self { most_jobs, ..self }
    }

    /// Parses the next piece of the log, and passes the jobs that it completes to `take`.
    pub fn feed(&mut self, piece: &[u8], take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        let mut rest = piece;
        while !self.is_done() {
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
                self.keep_unfinished(rest);
                break;
            };
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.unfinished.is_empty() {
                self.line(line, take)?;
            } else {
                self.keep_unfinished(line);
                self.unfinished_line(take)?;
            }
        }
        Ok(())
    }

    /// Parses the unfinished last line.
    pub fn finish(&mut self, take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        if !self.unfinished.is_empty() && !self.is_done() {
            self.unfinished_line(take)?;
        }
        if self.is_done() { Ok(()) } else { self.close_parts(take) }
    }

    /// Returns whether the requested number of jobs was kept.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.kept >= self.most_jobs
    }

    /// Lines read, of any kind.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines read other than blank lines, comments, and partial executions of a job that has another line.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Partial executions of jobs: dropped if a line summarises them, otherwise merged into the first.
    #[must_use]
    pub const fn parts(&self) -> u64 {
        self.parts.count
    }

    /// How the log is read.
    #[must_use]
    pub const fn options(&self) -> SwfOptions {
        self.options
    }

    /// Number of jobs passed on.
    #[must_use]
    pub const fn kept(&self) -> u64 {
        self.kept
    }

    /// The comment lines, at any position in the log, without line ends; bytes that are not UTF-8 are read as Latin-1.
    #[must_use]
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// Notes about dropped, changed and irregular jobs.
    #[must_use]
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }

    fn keep_unfinished(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE - self.unfinished.len();
        self.overlong |= bytes.len() > room;
        self.unfinished.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn unfinished_line(&mut self, take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        let mut line = std::mem::take(&mut self.unfinished);
        let result = self.line(&line, take);
        self.overlong = false;
        line.clear();
        self.unfinished = line;
        result
    }

    /// Adds a note that bytes after a gzip stream were ignored.
    pub fn note_trailing_bytes(&mut self) {
        self.notes.add(Note { reason: Reason::TrailingBytes, line: self.lines, job_id: None });
    }

    fn line(&mut self, line: &[u8], take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        self.lines += 1;
        let line = if self.lines == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let too_long = self.overlong || line.len() > LONGEST_LINE;
        match line.iter().find(|&&byte| !is_blank(byte)) {
            None if !too_long => Ok(()),
            Some(b';') => {
                self.comment(line, too_long);
                Ok(())
            }
            _ => self.row(line, too_long, take),
        }
    }

    fn comment(&mut self, line: &[u8], too_long: bool) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.parts.are_all |= says_all(line);
        let size = line.len() + COMMENT_COST;
        if too_long || self.comments_size + size > self.most_comments {
            self.notes.add(Note { reason: Reason::LongComment, line: self.lines, job_id: None });
            return;
        }
        self.comments_size += size;
        self.comments.push(match std::str::from_utf8(line) {
            Ok(text) => text.to_owned(),
            Err(_) => line.iter().map(|&byte| char::from(byte)).collect(),
        });
    }

    fn row(&mut self, line: &[u8], too_long: bool, take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        let read = if too_long {
            Err(Refusal { reason: Reason::LineTooLong, field: 0, value: f64::NAN, job_id: None })
        } else {
            Row::read(line, self.lines)
        };
        if self.parts.end_before(read.as_ref().ok()) {
            self.close_parts(take)?;
            if self.is_done() {
                return Ok(());
            }
        }
        let row = match read {
            Ok(row) => row,
            Err(refusal) => {
                self.rows += 1;
                return self.refuse(refusal, self.lines, line);
            }
        };
        let place = self.parts.place(&row);
        let refusal = match place {
            Place::Whole => {
                self.rows += 1;
                return self.job(&row, line, take);
            }
            Place::Part => return Ok(()),
            Place::First => match row.job(self.options) {
                Ok(_) => {
                    self.parts.open(row);
                    return Ok(());
                }
                Err(refusal) => refusal,
            },
            Place::Refused(refusal) => refusal,
        };
        self.rows += 1;
        self.refuse(refusal, self.lines, line)
    }

    /// Passes on the job that was merged from its parts.
    fn close_parts(&mut self, take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        match self.parts.close() {
            Some(row) => {
                self.rows += 1;
                self.job(&row, &[], take)
            }
            None => Ok(()),
        }
    }

    fn job(&mut self, row: &Row, line: &[u8], take: &mut impl FnMut(SwfRecord)) -> Result<(), SwfError> {
        match row.job(self.options) {
            Ok((record, mut reasons)) => {
                if record.submit_time < self.latest_submission {
                    reasons.add(Reason::OutOfOrder);
                }
                self.latest_submission = record.submit_time;
                self.notes.add_all(reasons, record.line, record.job_id);
                self.kept += 1;
                take(record);
                Ok(())
            }
            Err(refusal) => self.refuse(refusal, row.line, line),
        }
    }

    /// Adds a note that a line is not a job, or returns an error.
    fn refuse(&mut self, refusal: Refusal, number: u64, line: &[u8]) -> Result<(), SwfError> {
        self.parts.forget_above();
        if self.options.invalid == Invalid::Drop {
            self.notes.add(Note { reason: refusal.reason, line: number, job_id: refusal.job_id });
            return Ok(());
        }
        let message = refusal.message(line);
        Err(SwfError::Invalid { line: number, reason: refusal.reason, message })
    }
}
