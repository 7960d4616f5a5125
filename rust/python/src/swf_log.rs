//! `SwfLog`: a log that is read entirely, as columns or as a simulation without a table of its jobs.
use std::path::PathBuf;

use batchlab_kernel::measures::{Both, Tally};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::state::JobRecords;
use batchlab_kernel::stream::LogJobs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::inputs::{Machine, RunInputs};
use crate::measured::beside;
use crate::simulation::{Simulation, looked_at};
use crate::swf::{Reading, SwfReading, raised};

/// A log in the Standard Workload Format that is read entirely: a file, or pieces of bytes.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfLog {
    reading: Option<Reading>,
    use_memory: bool,
}

#[pymethods]
impl SwfLog {
    #[new]
    fn new(options: SwfReading) -> PyResult<Self> {
        let reading = Reading::new((&options).try_into()?, options.max_jobs);
        let use_memory = reading.parser.options().use_memory;
        Ok(Self { reading: Some(reading), use_memory })
    }

    /// Read a file, plain or gzip by its content.
    fn read(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.reading_mut()?.read_file(py, &path)
    }

    /// Read the next piece; return whether more is needed.
    fn feed(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<bool> {
        let reading = self.reading_mut()?;
        py.detach(|| reading.feed(piece)).map_err(raised)?;
        Ok(!reading.parser.is_done())
    }

    /// Add a note that bytes after the end of a compressed log were ignored.
    fn note_trailing_bytes(&mut self) -> PyResult<()> {
        self.reading_mut()?.parser.note_trailing_bytes();
        Ok(())
    }

    /// End a log of pieces.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let reading = self.reading_mut()?;
        py.detach(|| reading.finish()).map_err(raised)
    }

    /// The comments.
    #[getter]
    fn comments(&self) -> PyResult<Vec<String>> {
        Ok(self.reading()?.parser.comments().to_vec())
    }

    /// Numbers of jobs read, kept, kept with a changed value, with a time limit not known to be above the run time, and
    /// with requested memory; and the first and the last submit time.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reading = self.reading()?;
        let times = &reading.columns.submit_time;
        let facts = PyDict::new(py);
        facts.set_item("read", reading.parser.rows())?;
        facts.set_item("kept", times.len())?;
        facts.set_item("mended_jobs", reading.parser.notes().mended_jobs())?;
        facts.set_item("without_limit", reading.counts.without_limit)?;
        facts.set_item("with_memory", reading.counts.with_memory)?;
        facts.set_item("first_submission", times.iter().copied().fold(f64::INFINITY, f64::min))?;
        facts.set_item("last_submission", times.iter().copied().fold(f64::NEG_INFINITY, f64::max))?;
        Ok(facts)
    }

    /// Return the columns of the kept jobs, the comments, and the notes on lines; only once, because their memory is
    /// handed over.
    fn columns<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.reading.take().ok_or_else(spent)?.into_dict(py)
    }

    /// Create a simulation of the log that computes its measures while it runs; `inputs` have no columns.
    fn simulation(&self, py: Python<'_>, inputs: RunInputs<'_>) -> PyResult<Simulation> {
        let machine = inputs.machine.clone();
        let mut run = inputs.description(py)?;
        let (mut jobs, columns) = (self.jobs(&machine), &self.reading()?.columns);
        let scenario = &mut run.scenario;
        for row in 0..columns.len() {
            let record = columns.record(row);
            scenario.jobs.push(jobs.job(row as u64, &record, &mut scenario.requests));
            scenario.attributes.put_cancellation(row as u32, record.cancelled_at());
        }
        run.records = JobRecords::new(&run.scenario.jobs, |_| None);
        run.recorders.tally = Tally::new(None, machine.totals(), run.scenario.core).into();
        let feed = Replay::of(&run.scenario);
        Simulation::built(py, run, feed)
    }

    /// Return the log's own schedule beside the simulated one, over the jobs that ran in both, like
    /// `batchlab.result.near`; None if there are no such jobs.
    fn beside<'py>(
        &self,
        py: Python<'py>,
        simulation: &Bound<'py, Simulation>,
        machine: Machine,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (jobs, columns) = (self.jobs(&machine), &self.reading()?.columns);
        let simulation = looked_at(simulation)?;
        let mut both = Both::new(machine.resources.len(), None, usize::MAX);
        for row in 0..columns.len() {
            jobs.compare(simulation.kernel.view(), row as u32, &columns.record(row), &mut both)?;
        }
        beside(py, &mut both, &machine.resources, &machine.totals())
    }
}

impl SwfLog {
    fn reading(&self) -> PyResult<&Reading> {
        self.reading.as_ref().ok_or_else(spent)
    }

    fn reading_mut(&mut self) -> PyResult<&mut Reading> {
        self.reading.as_mut().ok_or_else(spent)
    }

    fn jobs(&self, machine: &Machine) -> LogJobs {
        LogJobs::new(machine.processor.clone(), machine.index("mem").filter(|_| self.use_memory))
    }
}

fn spent() -> PyErr {
    PyRuntimeError::new_err("the columns of this log were handed over")
}
