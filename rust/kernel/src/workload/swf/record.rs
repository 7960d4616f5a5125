//! One line of a log, and the rules that convert it to a job (S3).

use super::notes::{Reason, ReasonSet};
use super::number;
use super::options::{Overrun, ProcessorField, SwfOptions};

/// Number of fields of a line.
pub const FIELDS: usize = 18;

/// Largest magnitude up to which times and integers are exact in float64 (S1).
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The names of the 18 fields in batchlab's tables.
pub const FIELD_NAMES: [&str; FIELDS] = [
    "job_id",
    "submit_time",
    "logged_wait_time",
    "run_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user_id",
    "group_id",
    "application_id",
    "queue_id",
    "partition_id",
    "preceding_job_id",
    "think_time",
];

const JOB: usize = 0;
const SUBMIT: usize = 1;
const WAIT: usize = 2;
const RUN: usize = 3;
const ALLOCATED: usize = 4;
const USED_MEMORY: usize = 6;
const REQUESTED: usize = 7;
const REQUESTED_TIME: usize = 8;
const REQUESTED_MEMORY: usize = 9;
const STATUS: usize = 10;
const PRECEDING_JOB: usize = 16;

/// The status of a job that was cancelled, before its start or while it ran.
const CANCELLED: f64 = 5.0;
/// The status of a partial execution: to be continued; or the last one, completed or failed.
const PARTIAL: std::ops::RangeInclusive<f64> = 2.0..=LAST_FAILED;
const LAST_COMPLETED: f64 = 3.0;
const LAST_FAILED: f64 = 4.0;

/// Required fields: errors in them are not corrected.
const NEEDED: [usize; 3] = [JOB, SUBMIT, RUN];
/// A line needs the fields up to the run time.
const FEWEST_FIELDS: usize = RUN + 1;

/// Returns whether a field (numbered from 0) is an integer: processors and identifiers; the others are amounts.
#[must_use]
pub const fn is_whole(field: usize) -> bool {
    matches!(field, JOB | ALLOCATED | REQUESTED | 10..=16)
}

/// One kept job, normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwfRecord {
    /// The line in the log, from 1.
    pub line: u64,
    /// Field 1.
    pub job_id: i64,
    /// Field 17, -1 if unknown.
    pub preceding_job_id: i64,
    /// Field 2, seconds since the log's origin; at least 0.
    pub submit_time: f64,
    /// Field 4, seconds, at least 0; cut with [`Overrun::Cut`].
    pub run_time: f64,
    /// Field 9, or field 4 if unknown, seconds; raised with [`Overrun::Extend`].
    pub requested_time: f64,
    /// Field 9, or field 4 if unknown, seconds.
    pub time_limit: f64,
    /// Number of requested processors, at least 1.
    pub tasks: u32,
    /// Seconds from submission to cancellation of a job that did not start; None for others, and without `log_events`.
    pub cancelled_after: Option<f64>,
    /// Requested memory per processor, kB, with `use_memory`; otherwise 0.
    pub memory: i64,
    /// The 18 fields of the log; -1 if unknown, and for a job number beyond 2^53. Integer fields have integer values.
    pub fields: [f64; FIELDS],
}

impl SwfRecord {
    /// The time at which a job that did not start was cancelled, seconds; None for others.
    #[must_use]
    pub fn cancelled_at(&self) -> Option<f64> {
        self.cancelled_after.map(|seconds| self.submit_time + seconds)
    }

    /// Returns whether the log has the requested memory of the job.
    #[must_use]
    pub const fn asks_memory(&self) -> bool {
        self.fields[REQUESTED_MEMORY] > 0.0
    }

    /// The start of the job according to the log; None if it did not start, or the start is unknown.
    ///
    /// A job that was cancelled in the queue (status 5) waited until then, and did not start.
    #[must_use]
    pub fn logged_start(&self) -> Option<f64> {
        let cancelled = self.fields[STATUS] == CANCELLED && self.run_time <= 0.0;
        (self.fields[WAIT] >= 0.0 && !cancelled).then(|| self.submit_time + self.fields[WAIT])
    }

    /// The value of an integer field.
    #[must_use]
    pub const fn whole_field(&self, field: usize) -> i64 {
        match field {
            JOB => self.job_id,
            PRECEDING_JOB => self.preceding_job_id,
            _ => self.fields[field] as i64,
        }
    }
}

/// The reason why a line is not a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    /// The invalid field, from 0; with too few fields, their number.
    pub(super) field: usize,
    /// Value of the field.
    pub(super) value: f64,
    /// The job number, if it could be read.
    pub(super) job_id: Option<i64>,
}

/// The fields of a line, before the rules of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The line in the log, from 1.
    pub(super) line: u64,
    pub(super) job_id: i64,
    preceding_job_id: i64,
    pub(super) fields: [f64; FIELDS],
    pub(super) mends: ReasonSet,
}

impl Row {
    /// Reads the fields of a line.
    pub(super) fn read(line: &[u8], number: u64) -> Result<Self, Refusal> {
        let mut mends = ReasonSet::default();
        let mut fields = [-1.0; FIELDS];
        let found = split(line, &mut fields);
        let job_id = identifier(line, JOB, fields[JOB]);
        if found < FEWEST_FIELDS {
            return Err(Refusal { reason: Reason::TooFewFields, field: found, value: f64::NAN, job_id });
        }
        if found != FIELDS {
            mends.add(if found < FIELDS { Reason::MissingFields } else { Reason::ExtraFields });
        }
        let preceding = identifier(line, PRECEDING_JOB, fields[PRECEDING_JOB]);
        let is_exact = fields[PRECEDING_JOB].abs() < LARGEST_EXACT;
        let large_preceding = if is_exact { None } else { preceding };
        if large_preceding.is_some() {
            fields[PRECEDING_JOB] = -1.0;
        }
        mend_fields(&mut fields, &mut mends);
        let refusal = Refusal { reason: Reason::JobNumber, field: JOB, value: fields[JOB], job_id };
        let job_id = job_id.ok_or(refusal)?;
        let preceding_job_id = large_preceding.unwrap_or(fields[PRECEDING_JOB] as i64);
        Ok(Self { line: number, job_id, preceding_job_id, fields, mends })
    }

    /// Converts the line to a job; returns it with the reasons of its changes.
    pub(super) fn job(&self, options: SwfOptions) -> Result<(SwfRecord, ReasonSet), Refusal> {
        let Self { line, job_id, preceding_job_id, fields, mut mends } = *self;
        let refuse =
            |reason, field: usize| Refusal { reason, field, value: fields[field], job_id: Some(job_id) };
        let submit_time = time(fields[SUBMIT]).ok_or(refuse(Reason::SubmitTime, SUBMIT))?;
        let cancelled_after = if options.log_events && self.was_cancelled_waiting() {
            mends.add(Reason::Cancelled);
            Some(time(fields[WAIT]).ok_or(refuse(Reason::CancelledUnknownWait, WAIT))?)
        } else {
            None
        };
        let run_time = match cancelled_after {
            Some(_) => 0.0,
            None => time(fields[RUN]).ok_or(refuse(Reason::RunTime, RUN))?,
        };
        let (tasks, field) = processors(&fields, options.processors, &mut mends);
        let tasks = count(tasks).ok_or(refuse(Reason::Processors, field))?;
        let requested = match cancelled_after {
            Some(longest) if fields[REQUESTED_TIME] < 0.0 => {
                mends.add(Reason::CancelledRequest);
                longest
            }
            _ => fields[REQUESTED_TIME],
        };
        let Times { run_time, requested_time, time_limit } =
            times(run_time, requested, options.overrun, &mut mends)
                .ok_or(refuse(Reason::RequestedTime, REQUESTED_TIME))?;
        let memory = if options.use_memory { memory(&fields, &mut mends) } else { 0 };
        let record = SwfRecord {
            line,
            job_id,
            preceding_job_id,
            submit_time,
            run_time,
            requested_time,
            time_limit,
            tasks,
            cancelled_after,
            memory,
            fields,
        };
        Ok((record, mends))
    }

    /// Returns whether the job was cancelled without a run.
    fn was_cancelled_waiting(&self) -> bool {
        self.fields[STATUS] == CANCELLED && self.fields[RUN] <= 0.0
    }

    /// Returns whether the line is a partial execution of a job.
    pub(super) fn is_part(&self) -> bool {
        PARTIAL.contains(&self.fields[STATUS])
    }

    /// Appends the next partial execution of the same job.
    pub(super) fn append(&mut self, part: &Self) -> Result<(), Refusal> {
        let value = part.fields[RUN];
        let refusal = Refusal { reason: Reason::RunTime, field: RUN, value, job_id: Some(self.job_id) };
        self.fields[RUN] += time(value).ok_or(refusal)?;
        self.fields[STATUS] = part.fields[STATUS];
        self.mends.add(Reason::PartsJoined);
        Ok(())
    }

    /// Sets the status of a merged job to completed or failed, according to its last part.
    pub(super) fn close(&mut self) {
        self.fields[STATUS] = match self.fields[STATUS] {
            LAST_COMPLETED => 1.0,
            LAST_FAILED => 0.0,
            other => other,
        };
    }
}

/// Reads a job number, exactly even where float64 is not.
fn identifier(line: &[u8], field: usize, value: f64) -> Option<i64> {
    // 2^53 as a float64 may stand for 2^53 + 1.
    if value.abs() < LARGEST_EXACT {
        return whole(value);
    }
    let text = std::str::from_utf8(number::field(line, field)?).ok()?;
    text.parse().ok().filter(|&number| number != i64::MIN)
}

/// Reads the fields of a line; returns their number, with 19 for any greater number.
fn split(line: &[u8], fields: &mut [f64; FIELDS]) -> usize {
    let (mut found, mut position) = (0, 0);
    loop {
        while line.get(position).is_some_and(|&byte| number::is_blank(byte)) {
            position += 1;
        }
        if position == line.len() {
            return found;
        }
        if found == FIELDS {
            return FIELDS + 1;
        }
        (fields[found], position) = number::read(line, position);
        found += 1;
    }
}

/// Sets unreadable fields to unknown (-1), and rounds integer fields.
fn mend_fields(fields: &mut [f64; FIELDS], mends: &mut ReasonSet) {
    for (field, value) in fields.iter_mut().enumerate() {
        if value.abs() <= LARGEST_EXACT && (!is_whole(field) || !is_fractional(*value)) {
            continue;
        }
        if NEEDED.contains(&field) || (field == REQUESTED_TIME && *value > 0.0) {
            // The rules of these fields reject the value.
        } else if value.is_nan() || value.abs() > LARGEST_EXACT {
            *value = -1.0;
            mends.add(Reason::Unreadable);
        } else if matches!(field, ALLOCATED | REQUESTED) {
            *value = value.ceil() + 0.0;
            mends.add(Reason::FractionalProcessors);
        } else {
            *value = value.floor();
            mends.add(Reason::FractionalInteger);
        }
    }
}

/// For values between integers that float64 represents exactly; several times as fast as `fract`.
fn is_fractional(value: f64) -> bool {
    value - (value as i64) as f64 != 0.0
}

fn whole(value: f64) -> Option<i64> {
    (value.abs() <= LARGEST_EXACT && !is_fractional(value)).then_some(value as i64)
}

fn time(value: f64) -> Option<f64> {
    (0.0..=LARGEST_EXACT).contains(&value).then_some(value)
}

fn count(value: f64) -> Option<u32> {
    (1.0..=f64::from(u32::MAX)).contains(&value).then_some(value as u32)
}

/// The requested processors, and the index of their field.
fn processors(fields: &[f64; FIELDS], preferred: ProcessorField, mends: &mut ReasonSet) -> (f64, usize) {
    let (first, second) = match preferred {
        ProcessorField::Requested => (REQUESTED, ALLOCATED),
        ProcessorField::Allocated => (ALLOCATED, REQUESTED),
    };
    if fields[first] >= 0.0 || fields[second] < 0.0 {
        return (fields[first], first);
    }
    mends.add(Reason::OtherProcessors);
    (fields[second], second)
}

/// The times of a job after the overrun rule.
struct Times {
    run_time: f64,
    requested_time: f64,
    time_limit: f64,
}

/// The times of a job; None if the requested time is too large.
fn times(run_time: f64, requested: f64, overrun: Overrun, mends: &mut ReasonSet) -> Option<Times> {
    if requested < 0.0 {
        mends.add(Reason::RequestedTimeUnknown);
        return Some(Times { run_time, requested_time: run_time, time_limit: run_time });
    }
    let time_limit = time(requested)?;
    let times = Times { run_time, requested_time: time_limit, time_limit };
    if run_time <= time_limit {
        return Some(times);
    }
    let (reason, times) = match overrun {
        Overrun::Extend => (Reason::RequestedTimeRaised, Times { requested_time: run_time, ..times }),
        Overrun::Cut => (Reason::RunTimeCut, Times { run_time: time_limit, ..times }),
        Overrun::Keep => (Reason::OverrunKept, times),
    };
    mends.add(reason);
    Some(times)
}

/// Memory per processor in kB: field 10, or field 7 if unknown, or 0; fractions are rounded up.
fn memory(fields: &[f64; FIELDS], mends: &mut ReasonSet) -> i64 {
    if fields[REQUESTED_MEMORY] >= 0.0 {
        return fields[REQUESTED_MEMORY].ceil() as i64;
    }
    if fields[USED_MEMORY] >= 0.0 {
        mends.add(Reason::UsedMemory);
        return fields[USED_MEMORY].ceil() as i64;
    }
    mends.add(Reason::MemoryUnknown);
    0
}

impl Refusal {
    /// The value and the rule that it breaks, e.g. `requested_processors = 0; must be >= 1`.
    pub(super) fn message(&self, line: &[u8]) -> String {
        let rule = match self.reason {
            Reason::LineTooLong => {
                return "the line is longer than 1 MiB; a job's line has 18 numbers".to_owned();
            }
            Reason::TooFewFields => {
                return format!("{} fields; a job's line has 18 numbers", self.field);
            }
            Reason::JobNumber => "must be a whole number below 2^63",
            Reason::Processors if self.value >= 1.0 => "must be below 2^32",
            Reason::Processors => "must be >= 1",
            _ => "must be a number of seconds from 0 to 2^53",
        };
        let name = FIELD_NAMES[self.field].replace("_processors", " processors");
        format!("{name} = {}; {rule}", shown_field(line, self.field))
    }
}

/// The text of a field, shortened for messages.
fn shown_field(line: &[u8], field: usize) -> String {
    const LONGEST: usize = 40;
    let Some(text) = number::field(line, field) else {
        return "missing".to_owned();
    };
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
