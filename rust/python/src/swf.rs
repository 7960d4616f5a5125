//! Logs in the Standard Workload Format as columns.
//!
//! Errors: `OSError` if a file cannot be read; `ValueError(line, message)` if a job breaks a rule (`line` is None for a
//! damaged gzip stream).

use batchlab_kernel::stream::LogCounts;
use batchlab_kernel::workload::swf::{
    Blocks, FIELD_NAMES, FIELDS, Invalid, Outcome, Overrun, ProcessorField, Reason, SwfError, SwfOptions,
    SwfParser, SwfRecord, is_whole,
};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;

use crate::inputs::parse;
use crate::source;

/// Fields with separate, normalised columns: job, submission, run and requested time.
const NORMALISED: [usize; 4] = [0, 1, 3, 8];
const PRECEDING_JOB: usize = 16;
/// Blocks between two checks for Ctrl-C: 16 MiB.
const BLOCKS_PER_TURN: usize = 256;

enum Column {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

/// The kept jobs, column by column.
#[derive(Default)]
pub struct Columns {
    line: Vec<i64>,
    job_id: Vec<i64>,
    pub submit_time: Vec<f64>,
    pub run_time: Vec<f64>,
    pub requested_time: Vec<f64>,
    /// Present with `overrun="extend"`, with which requested times may differ from time limits.
    pub time_limit: Option<Vec<f64>>,
    pub tasks: Vec<i64>,
    pub memory: Option<Vec<i64>>,
    /// NaN for jobs that were not cancelled before they started; the column ends with the last row that was.
    pub cancelled_after: Vec<f64>,
    /// The remaining fields, with their numbers.
    others: Vec<(usize, Column)>,
}

impl Columns {
    fn new(options: SwfOptions) -> Self {
        let empty = |field| {
            if is_whole(field) { Column::Whole(Vec::new()) } else { Column::Real(Vec::new()) }
        };
        let others =
            (0..FIELDS).filter(|field| !NORMALISED.contains(field)).map(|field| (field, empty(field)));
        Self {
            time_limit: (options.overrun == Overrun::Extend).then(Vec::new),
            memory: options.use_memory.then(Vec::new),
            others: others.collect(),
            ..Self::default()
        }
    }

    /// Number of jobs.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// The record of a row; its fields with separate columns are normalised.
    pub fn record(&self, row: usize) -> SwfRecord {
        let (mut fields, mut preceding_job_id) = ([-1.0; FIELDS], -1);
        for (field, column) in &self.others {
            fields[*field] = match column {
                Column::Whole(values) => {
                    if *field == PRECEDING_JOB {
                        preceding_job_id = values[row];
                    }
                    values[row] as f64
                }
                Column::Real(values) => values[row],
            };
        }
        let (submit_time, run_time) = (self.submit_time[row], self.run_time[row]);
        let requested_time = self.requested_time[row];
        let own = [self.job_id[row] as f64, submit_time, run_time, requested_time];
        NORMALISED.into_iter().zip(own).for_each(|(field, value)| fields[field] = value);
        SwfRecord {
            line: self.line[row] as u64,
            job_id: self.job_id[row],
            preceding_job_id,
            submit_time,
            run_time,
            requested_time,
            time_limit: self.time_limit.as_ref().map_or(requested_time, |limits| limits[row]),
            tasks: self.tasks[row] as u32,
            cancelled_after: self.cancelled_after.get(row).copied().filter(|seconds| !seconds.is_nan()),
            memory: self.memory.as_ref().map_or(0, |memory| memory[row]),
            fields,
        }
    }

    fn push(&mut self, record: &SwfRecord) {
        self.line.push(record.line as i64);
        self.job_id.push(record.job_id);
        self.submit_time.push(record.submit_time);
        self.run_time.push(record.run_time);
        self.requested_time.push(record.requested_time);
        self.tasks.push(i64::from(record.tasks));
        if let Some(limits) = &mut self.time_limit {
            limits.push(record.time_limit);
        }
        if let Some(memory) = &mut self.memory {
            memory.push(record.memory);
        }
        if let Some(seconds) = record.cancelled_after {
            self.cancelled_after.resize(self.line.len() - 1, f64::NAN);
            self.cancelled_after.push(seconds);
        }
        for (field, column) in &mut self.others {
            match column {
                Column::Whole(values) => values.push(record.whole_field(*field)),
                Column::Real(values) => values.push(record.fields[*field]),
            }
        }
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = PyDict::new(py);
        columns.set_item("job_id", self.job_id.into_pyarray(py))?;
        columns.set_item("submit_time", self.submit_time.into_pyarray(py))?;
        columns.set_item("run_time", self.run_time.into_pyarray(py))?;
        columns.set_item("requested_time", self.requested_time.into_pyarray(py))?;
        columns.set_item("tasks", self.tasks.into_pyarray(py))?;
        if let Some(limits) = self.time_limit {
            columns.set_item("time_limit", limits.into_pyarray(py))?;
        }
        if let Some(memory) = self.memory {
            columns.set_item("mem", memory.into_pyarray(py))?;
        }
        if !self.cancelled_after.is_empty() {
            let mut column = self.cancelled_after;
            column.resize(self.line.len(), f64::NAN);
            columns.set_item("cancelled_after", column.into_pyarray(py))?;
        }
        for (field, column) in self.others {
            match column {
                Column::Whole(values) => {
                    columns.set_item(FIELD_NAMES[field], values.into_pyarray(py))?;
                }
                Column::Real(values) => {
                    columns.set_item(FIELD_NAMES[field], values.into_pyarray(py))?;
                }
            }
        }
        Ok(columns)
    }
}

/// A log that is being read into columns.
pub struct Reading {
    pub parser: SwfParser,
    pub columns: Columns,
    pub counts: LogCounts,
}

impl Reading {
    pub fn new(options: SwfOptions, max_jobs: Option<u64>) -> Self {
        let parser = SwfParser::new(options).stop_after(max_jobs.unwrap_or(u64::MAX));
        Self { parser, columns: Columns::new(options), counts: LogCounts::default() }
    }

    pub fn feed(&mut self, piece: &[u8]) -> Result<(), SwfError> {
        let Self { parser, columns, counts } = self;
        parser.feed(piece, &mut |record| {
            counts.add(&record);
            columns.push(&record);
        })
    }

    pub fn finish(&mut self) -> Result<(), SwfError> {
        let Self { parser, columns, counts } = self;
        parser.finish(&mut |record| {
            counts.add(&record);
            columns.push(&record);
        })
    }

    /// Reads a whole file.
    pub fn read_file(&mut self, py: Python<'_>, path: &Path) -> PyResult<()> {
        let mut blocks = py.detach(|| Blocks::new(source::open(path)?))?;
        while py.detach(|| self.read(&mut blocks)).map_err(raised)? {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Reads some blocks; returns whether there may be more.
    fn read(&mut self, blocks: &mut Blocks) -> Result<bool, SwfError> {
        for _ in 0..BLOCKS_PER_TURN {
            let block = blocks.next_block(&mut self.parser)?;
            if block.is_empty() || self.parser.is_done() {
                self.finish()?;
                return Ok(false);
            }
            self.feed(block)?;
        }
        Ok(true)
    }

    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let parser = self.parser;
        let notes = parser.notes().kept();
        let log = PyDict::new(py);
        log.set_item("rows", parser.rows())?;
        log.set_item("parts", parser.parts())?;
        log.set_item("lines", parser.lines())?;
        log.set_item("done", parser.is_done())?;
        log.set_item("comments", parser.comments())?;
        log.set_item("mended_jobs", parser.notes().mended_jobs())?;
        log.set_item(
            "note_count",
            Reason::ALL.iter().map(|&reason| parser.notes().count(reason)).collect::<Vec<_>>(),
        )?;
        log.set_item(
            "note_reason",
            notes.iter().map(|note| note.reason as u8).collect::<Vec<u8>>().into_pyarray(py),
        )?;
        log.set_item(
            "note_line",
            notes.iter().map(|note| note.line as i64).collect::<Vec<i64>>().into_pyarray(py),
        )?;
        // No job has the smallest integer as its number, so that it can stand for a missing number.
        let job = notes.iter().map(|note| note.job_id.unwrap_or(i64::MIN));
        log.set_item("note_job_id", job.collect::<Vec<i64>>().into_pyarray(py))?;
        log.set_item(
            "reasons",
            Reason::ALL.iter().map(|reason| (outcome(*reason), reason.text())).collect::<Vec<_>>(),
        )?;
        log.set_item("line", self.columns.line.clone().into_pyarray(py))?;
        log.set_item("columns", self.columns.into_dict(py)?)?;
        Ok(log)
    }
}

/// Options of reading: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SwfReading {
    overrun: String,
    invalid: String,
    processors: String,
    use_memory: bool,
    log_events: bool,
    pub max_jobs: Option<u64>,
}

impl TryFrom<&SwfReading> for SwfOptions {
    type Error = PyErr;

    fn try_from(given: &SwfReading) -> PyResult<Self> {
        let overruns = [("extend", Overrun::Extend), ("cut", Overrun::Cut), ("keep", Overrun::Keep)];
        let invalid = [("drop", Invalid::Drop), ("raise", Invalid::Raise)];
        let processors = [("requested", ProcessorField::Requested), ("allocated", ProcessorField::Allocated)];
        Ok(Self {
            overrun: parse("overrun", &given.overrun, &overruns)?,
            invalid: parse("invalid", &given.invalid, &invalid)?,
            processors: parse("processors", &given.processors, &processors)?,
            use_memory: given.use_memory,
            log_events: given.log_events,
        })
    }
}

pub(crate) const fn outcome(reason: Reason) -> &'static str {
    match reason.outcome() {
        Outcome::Dropped => "dropped",
        Outcome::Mended => "mended",
        Outcome::Noted => "noted",
    }
}

pub(crate) fn raised(error: SwfError) -> PyErr {
    match error {
        SwfError::Io(error) => error.into(),
        // A signal handler raised while waiting for bytes.
        SwfError::Gzip { source, .. }
            if source.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<PyErr>) =>
        {
            source.into()
        }
        SwfError::Invalid { line, message, .. } => PyValueError::new_err((line, message)),
        gzip @ SwfError::Gzip { .. } => PyValueError::new_err((None::<u64>, gzip.to_string())),
    }
}
