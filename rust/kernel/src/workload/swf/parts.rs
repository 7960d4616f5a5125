//! Partial executions: lines that are parts of one job (status 2, 3 and 4).
//!
//! The lines of a job are consecutive. If one of them has another status, it is the job, and the parts are dropped.
//! Otherwise the parts are the job: the submission and the fields of the first, the sum of the run times, the status of
//! the last. If the header says `Preemption: Yes`, no line summarises others, so a line of another status after parts
//! is the last part. (The format's page, "Checkpointing and swapping", and the header field `Preemption`.)
use super::record::{Refusal, Row};

/// The role of a line.
#[derive(Debug)]
pub(super) enum Place {
    /// A line that is a complete job.
    Whole,
    /// The first partial execution of a job.
    First,
    /// A partial execution of the job in the line before.
    Part,
    /// A partial execution of the job in the line before that cannot be read.
    Refused(Refusal),
}

/// The partial executions around the current line.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// True if no line summarises others.
    pub(super) are_all: bool,
    /// The number of the job in the line before, if that line is a complete job.
    above: Option<i64>,
    /// The parts that are being merged.
    open: Option<Row>,
    /// Number of lines that are not jobs.
    pub(super) count: u64,
}

impl Parts {
    /// Returns whether parts are being merged that this line does not belong to.
    pub(super) fn end_before(&self, row: Option<&Row>) -> bool {
        self.open.as_ref().is_some_and(|open| row.is_none_or(|row| row.job_id != open.job_id))
    }

    /// Ends the merge, and returns the job.
    pub(super) fn close(&mut self) -> Option<Row> {
        let mut row = self.open.take()?;
        row.close();
        self.above = None;
        Some(row)
    }

    /// Determines the role of a line; earlier parts of other jobs must be closed.
    pub(super) fn place(&mut self, row: &Row) -> Place {
        let is_part = row.is_part();
        if let Some(open) = &mut self.open {
            if is_part || self.are_all {
                return match open.append(row) {
                    Ok(()) => {
                        self.count += 1;
                        Place::Part
                    }
                    Err(refusal) => Place::Refused(refusal),
                };
            }
            // The line that summarises these parts; all parts but the first are already counted.
            self.count += 1;
            self.open = None;
        } else if is_part && self.above == Some(row.job_id) {
            self.count += 1;
            return Place::Part;
        }
        self.above = (!is_part).then_some(row.job_id);
        if is_part { Place::First } else { Place::Whole }
    }

    /// Begins to merge the parts of a job.
    pub(super) fn open(&mut self, row: Row) {
        self.open = Some(row);
    }

    /// Forgets the line before: it is not a job.
    pub(super) fn forget_above(&mut self) {
        self.above = None;
    }
}

/// Returns whether a comment is the header field by which every line is a part or a whole job, and none summarises
/// others.
pub(super) fn says_all(comment: &[u8]) -> bool {
    let text = comment.trim_ascii_start().strip_prefix(b";").unwrap_or_default();
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return false };
    let (name, value) = (text[..colon].trim_ascii(), text[colon + 1..].trim_ascii());
    name.eq_ignore_ascii_case(b"Preemption") && value.eq_ignore_ascii_case(b"Yes")
}
