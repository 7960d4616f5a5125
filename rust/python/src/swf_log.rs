//! `SwfLog`: a log that is read entirely, and replayed without a table of its jobs.
use std::path::PathBuf;

use batchlab_kernel::cluster::{Request, Requests};
use batchlab_kernel::measures::{Both, Tally, Times};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::state::JobRecords;
use batchlab_kernel::workload::{Job, JobState};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::inputs::{Machine, RunRules};
use crate::measured::beside;
use crate::policy::PolicyNames;
use crate::simulation::{Simulation, looked_at};
use crate::swf::{Reading, options, read};

/// A log that was read entirely.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfLog {
    reading: Option<Reading>,
}

#[pymethods]
impl SwfLog {
    #[new]
    #[pyo3(signature = (path, *, overrun, invalid, processors, use_memory, log_events))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        overrun: &str,
        invalid: &str,
        processors: &str,
        use_memory: bool,
        log_events: bool,
    ) -> PyResult<Self> {
        let options = options(overrun, invalid, processors, use_memory, log_events)?;
        Ok(Self { reading: Some(read(py, &path, options, None)?) })
    }

    /// The comments.
    #[getter]
    fn comments(&self) -> PyResult<Vec<String>> {
        Ok(self.reading()?.parser.comments().to_vec())
    }

    /// Number of jobs read and kept, number of kept jobs with a changed value, and the first and the last submit time.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reading = self.reading()?;
        let times = &reading.columns.submit_time;
        let facts = PyDict::new(py);
        facts.set_item("read", reading.parser.rows())?;
        facts.set_item("kept", times.len())?;
        facts.set_item("mended_jobs", reading.parser.notes().mended_jobs())?;
        facts.set_item("first_submission", times.iter().copied().fold(f64::INFINITY, f64::min))?;
        facts.set_item("last_submission", times.iter().copied().fold(f64::NEG_INFINITY, f64::max))?;
        Ok(facts)
    }

    /// Return the columns like `read_swf_file`; only once, because their memory is handed over.
    fn columns<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.reading.take().ok_or_else(spent)?.into_dict(py)
    }

    /// Create a simulation of the log that computes its measures while it runs.
    fn simulation(
        &self,
        py: Python<'_>,
        machine: Machine,
        policy: PolicyNames,
        rules: RunRules,
    ) -> PyResult<Simulation> {
        let mut run = machine.description(policy.try_into()?, &rules)?;
        run.scenario.jobs = self.jobs(&machine, &mut run.scenario.requests)?;
        run.records = JobRecords::new(&run.scenario.jobs, |_| None);
        run.scenario.attributes.cancelled_at = self.reading()?.columns.cancelled_at();
        let tally = Tally::new(None, machine.totals(), run.scenario.core);
        let feed = Replay::of(&run.scenario).with_tally(tally);
        Simulation::built(py, run, feed)
    }

    /// Return the number of jobs with a time limit not known to be above the run time, and whether any requested
    /// memory.
    fn asked(&self) -> PyResult<(usize, bool)> {
        Ok(self.reading()?.columns.asked())
    }

    /// Return the log's own schedule beside the simulated one, over the jobs that ran in both, like
    /// `batchlab.result.near`; None if there are no such jobs.
    fn beside<'py>(
        &self,
        py: Python<'py>,
        simulation: &Bound<'py, Simulation>,
        machine: Machine,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let columns = &self.reading()?.columns;
        let simulation = looked_at(simulation)?;
        let jobs = &simulation.kernel.state().jobs;
        let memory = columns.memory.as_ref().and_then(|column| Some((column, machine.index("mem")?)));
        let mut both = Both::new(machine.resources.len(), None, usize::MAX);
        for (row, logged) in columns.logged_starts().enumerate() {
            let slot = row as u32;
            let (start, end) = (jobs.start_time(slot), jobs.end_time(slot));
            let counts = !start.is_nan() && !end.is_nan() && jobs.state(slot) != JobState::Cancelled;
            let Some(logged) = logged.filter(|_| counts) else { continue };
            let (submit, run) = (columns.submit_time[row], columns.run_time[row]);
            let ran = if jobs.state(slot) == JobState::Killed { end - start } else { run };
            let held = machine.processor.iter().enumerate().map(|(resource, &each)| match memory {
                Some((column, place)) if place == resource => column[row] * columns.tasks[row],
                _ => each * columns.tasks[row],
            });
            both.add(logged, run, Times { submit, start, end, run: ran }, held)?;
        }
        beside(py, &mut both, &machine.resources, &machine.totals())
    }
}

impl SwfLog {
    fn reading(&self) -> PyResult<&Reading> {
        self.reading.as_ref().ok_or_else(spent)
    }

    fn jobs(&self, machine: &Machine, requests: &mut Requests) -> PyResult<Vec<Job>> {
        let columns = &self.reading()?.columns;
        let memory = columns.memory.as_ref().and_then(|column| Some((column, machine.index("mem")?)));
        let mut usual = None;
        let of_row = |row: usize| {
            let request = if let (None, Some(known)) = (memory, usual) {
                known
            } else {
                let mut amounts = machine.processor.clone();
                if let Some((column, resource)) = memory {
                    amounts[resource] = column[row];
                }
                requests.intern(Request { amounts, ..Request::NOTHING })
            };
            usual = Some(request);
            Job {
                row: row as u64,
                // Adding 0 converts −0 to 0.
                submit_time: columns.submit_time[row] + 0.0,
                run_time: columns.longest_run(row) + 0.0,
                requested_time: columns.requested_time[row] + 0.0,
                time_limit: columns.time_limit.as_ref().unwrap_or(&columns.requested_time)[row] + 0.0,
                tasks: u32::try_from(columns.tasks[row]).unwrap_or(u32::MAX),
                request,
            }
        };
        Ok((0..columns.tasks.len()).map(of_row).collect())
    }
}

fn spent() -> PyErr {
    PyRuntimeError::new_err("the columns of this log were handed over")
}
