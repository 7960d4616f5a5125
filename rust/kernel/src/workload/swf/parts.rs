//! Partial executions: lines that are parts of one job (status 2, 3 and 4).
//!
//! The lines of a job follow one another. With a line of another status among them that line is the job, and the parts are
//! left out. Without one the parts are the job: the submission and the fields of the first, the sum of the run times, the
//! status of the last. Where the header says `Preemption: Yes` no line sums up others, so that a line of another status
//! behind parts is the last of them. (The format's page, "Checkpointing and swapping", and the header field `Preemption`.)
use super::record::{Refusal, Row};

/// What a line is.
#[derive(Debug)]
pub(super) enum Place {
    /// A line that is complete in itself.
    Whole,
    /// The first partial execution of a job, as far as is known.
    First,
    /// A partial execution that belongs to the job above.
    Part,
    /// A partial execution that belongs to the job above, and cannot be read.
    Refused(Refusal),
}

/// The partial executions around the present line.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Whether no line sums up others.
    pub(super) are_all: bool,
    /// The number of the job above, where its line is complete in itself.
    above: Option<i64>,
    /// The parts that are being put together.
    open: Option<Row>,
    /// Lines that are no jobs.
    pub(super) count: u64,
}

impl Parts {
    /// Whether parts are being put together that this line does not belong to.
    pub(super) fn end_before(&self, row: Option<&Row>) -> bool {
        self.open.as_ref().is_some_and(|open| row.is_none_or(|row| row.job_id != open.job_id))
    }

    /// Ends the job that is being put together.
    pub(super) fn close(&mut self) -> Option<Row> {
        let mut row = self.open.take()?;
        row.close();
        self.above = None;
        Some(row)
    }

    /// Finds out what a line is; those before it that do not belong to it were closed.
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
            // The line that sums up these parts, of which all but the first are counted.
            self.count += 1;
            self.open = None;
        } else if is_part && self.above == Some(row.job_id) {
            self.count += 1;
            return Place::Part;
        }
        self.above = (!is_part).then_some(row.job_id);
        if is_part { Place::First } else { Place::Whole }
    }

    /// Begins to put together the parts of a job.
    pub(super) fn open(&mut self, row: Row) {
        self.open = Some(row);
    }

    /// Forgets the line above: it is no job.
    pub(super) fn forget_above(&mut self) {
        self.above = None;
    }
}

/// Whether a comment is the header field that says that each line is a part, or a whole job, and none sums up others.
pub(super) fn says_all(comment: &[u8]) -> bool {
    let text = comment.trim_ascii_start().strip_prefix(b";").unwrap_or_default();
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return false };
    let (name, value) = (text[..colon].trim_ascii(), text[colon + 1..].trim_ascii());
    name.eq_ignore_ascii_case(b"Preemption") && value.eq_ignore_ascii_case(b"Yes")
}
