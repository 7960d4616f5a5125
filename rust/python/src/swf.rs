//! The reader of the Standard Workload Format: whole logs as columns.
//!
//! Both readers return the same dictionary (`SwfColumns` in the stubs): the columns of the kept jobs as arrays, the
//! comments, and the notes about dropped, changed and irregular lines. Errors: `OSError` if a file cannot be read;
//! `ValueError(line, message)` if a job breaks a rule (`line` is None for a damaged gzip stream).

use batchlab_kernel::workload::swf::{
    Blocks, FIELD_NAMES, FIELDS, Invalid, Outcome, Overrun, ProcessorField, Reason, SwfError, SwfOptions,
    SwfParser as KernelParser, SwfRecord, is_whole,
};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

use crate::source;

/// Fields with separate, normalised columns: job, submission, run and requested time.
const NORMALISED: [usize; 4] = [0, 1, 3, 8];
const WAIT: usize = 2;
const MEMORY: usize = 9;
const STATUS: usize = 10;
const CANCELLED: i64 = 5;
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

    /// The start of the jobs according to the log; None if a job did not start, or the start is unknown.
    ///
    /// A job that was cancelled in the queue (status 5) waited until then, and did not start.
    pub fn logged_starts(&self) -> impl Iterator<Item = Option<f64>> {
        let field = |number| self.others.iter().find(|(field, _)| *field == number).map(|(_, column)| column);
        let waits = if let Some(Column::Real(waits)) = field(WAIT) { waits.as_slice() } else { &[] };
        let states = if let Some(Column::Whole(states)) = field(STATUS) { states.as_slice() } else { &[] };
        self.submit_time.iter().enumerate().map(move |(row, submit)| {
            let cancelled = states.get(row) == Some(&CANCELLED) && self.run_time[row] <= 0.0;
            waits.get(row).filter(|wait| **wait >= 0.0 && !cancelled).map(|wait| submit + wait)
        })
    }

    /// Number of jobs with a time limit not known to be above the run time, and whether any requested memory.
    pub fn asked(&self) -> (usize, bool) {
        let without =
            self.requested_time.iter().zip(&self.run_time).filter(|(limit, run)| limit <= run).count();
        let has_some = |(field, column): &(usize, Column)| {
            let Column::Real(values) = column else { return false };
            *field == MEMORY && values.iter().any(|value| *value > 0.0)
        };
        (without, self.others.iter().any(has_some))
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

    /// Run time of a job, seconds; for a job cancelled before it started the longest possible run.
    pub fn longest_run(&self, row: usize) -> f64 {
        let cancelled_after = self.cancelled_after.get(row).copied().filter(|seconds| !seconds.is_nan());
        cancelled_after.unwrap_or(self.run_time[row])
    }

    /// The cancellation time of each job that did not start, infinity for others; empty if there are no such jobs.
    pub fn cancelled_at(&self) -> Vec<f64> {
        let times =
            self.cancelled_after.iter().zip(&self.submit_time).map(|(seconds, submit)| submit + seconds);
        times.map(|time| if time.is_nan() { f64::INFINITY } else { time }).collect()
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
    pub parser: KernelParser,
    pub columns: Columns,
}

impl Reading {
    fn new(options: SwfOptions, max_jobs: Option<u64>) -> Self {
        let parser = KernelParser::new(options).stop_after(max_jobs.unwrap_or(u64::MAX));
        Self { parser, columns: Columns::new(options) }
    }

    fn feed(&mut self, piece: &[u8]) -> Result<(), SwfError> {
        let Self { parser, columns } = self;
        parser.feed(piece, &mut |record| columns.push(&record))
    }

    fn finish(&mut self) -> Result<(), SwfError> {
        let Self { parser, columns } = self;
        parser.finish(&mut |record| columns.push(&record))
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

/// Read a log that arrives in pieces of bytes.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfParser {
    reading: Option<Reading>,
}

#[pymethods]
impl SwfParser {
    #[new]
    #[pyo3(signature = (*, overrun, invalid, processors, use_memory, log_events, max_jobs=None))]
    fn new(
        overrun: &str,
        invalid: &str,
        processors: &str,
        use_memory: bool,
        log_events: bool,
        max_jobs: Option<u64>,
    ) -> PyResult<Self> {
        let options = options(overrun, invalid, processors, use_memory, log_events)?;
        Ok(Self { reading: Some(Reading::new(options, max_jobs)) })
    }

    /// Read the next piece; return whether more is needed.
    fn feed(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<bool> {
        let reading = self.reading.as_mut().ok_or_else(spent)?;
        py.detach(|| reading.feed(piece)).map_err(raised)?;
        Ok(!reading.parser.is_done())
    }

    /// Add a note that bytes after the end of a compressed log were ignored.
    fn note_trailing_bytes(&mut self) -> PyResult<()> {
        self.reading.as_mut().ok_or_else(spent)?.parser.note_trailing_bytes();
        Ok(())
    }

    /// End the log, and return its contents.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut reading = self.reading.take().ok_or_else(spent)?;
        py.detach(|| reading.finish()).map_err(raised)?;
        reading.into_dict(py)
    }
}

/// Read a file, plain or gzip by its content.
#[pyfunction]
#[pyo3(signature = (path, *, overrun, invalid, processors, use_memory, log_events, max_jobs=None))]
#[expect(clippy::too_many_arguments, reason = "the options of reading, each of which has a name in Python")]
pub fn read_swf_file<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    overrun: &str,
    invalid: &str,
    processors: &str,
    use_memory: bool,
    log_events: bool,
    max_jobs: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options(overrun, invalid, processors, use_memory, log_events)?;
    read(py, &path.extract::<PathBuf>()?, options, max_jobs)?.into_dict(py)
}

/// Reads a whole file.
pub fn read(py: Python<'_>, path: &Path, options: SwfOptions, max_jobs: Option<u64>) -> PyResult<Reading> {
    let mut reading = Reading::new(options, max_jobs);
    let mut blocks = py.detach(|| Blocks::new(source::open(path)?))?;
    while py.detach(|| reading.read(&mut blocks)).map_err(raised)? {
        py.check_signals()?;
    }
    Ok(reading)
}

pub(crate) fn options(
    overrun: &str,
    invalid: &str,
    processors: &str,
    use_memory: bool,
    log_events: bool,
) -> PyResult<SwfOptions> {
    let unknown = |name, value: &str| PyValueError::new_err(format!("{name}={value:?} is not known"));
    Ok(SwfOptions {
        overrun: match overrun {
            "extend" => Overrun::Extend,
            "cut" => Overrun::Cut,
            "keep" => Overrun::Keep,
            other => return Err(unknown("overrun", other)),
        },
        invalid: match invalid {
            "drop" => Invalid::Drop,
            "raise" => Invalid::Raise,
            other => return Err(unknown("invalid", other)),
        },
        processors: match processors {
            "requested" => ProcessorField::Requested,
            "allocated" => ProcessorField::Allocated,
            other => return Err(unknown("processors", other)),
        },
        use_memory,
        log_events,
    })
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

fn spent() -> PyErr {
    PyValueError::new_err((None::<u64>, "this parser is finished"))
}
