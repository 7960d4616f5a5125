//! `SwfStream`: simulation of a log while it is read.
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use batchlab_kernel::cluster::{NodeSets, Requests};
use batchlab_kernel::priority::FORMULA_NAMES;
use batchlab_kernel::scenario::Scenario;
use batchlab_kernel::scheduler::{Capacities, PolicyChoice};
use batchlab_kernel::simulation::Simulation;
use batchlab_kernel::state::{JobRecords, State};
use batchlab_kernel::stream::{EventSource, Stream, StreamError, StreamOptions};
use batchlab_kernel::workload::swf::{FIELD_NAMES, Reason, SwfError, SwfFile, SwfParser, SwfRecord};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::external_events::ReadEvents;
use crate::machine::Machine;
use crate::measured::{beside, metrics};
use crate::policy::PolicyNames;
use crate::simulation::{failed, parse_agenda, parse_job_check, parse_wall_time};
use crate::source;
use crate::streamed_overheads::StreamedOverheads;
use crate::swf::{options, outcome, raised};

/// An open log; its comments have been read up to the first job.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfStream {
    log: Mutex<Option<(SwfFile, Option<SwfRecord>)>>,
    comments: Vec<String>,
    use_memory: bool,
}

#[pymethods]
impl SwfStream {
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
        let opened = py.detach(|| {
            let mut log = SwfFile::new(source::open(&path).map_err(SwfError::Io)?, options)?;
            let first = log.next().transpose()?;
            Ok::<_, SwfError>((log, first))
        });
        let (log, first) = opened.map_err(raised)?;
        let comments = log.parser().comments().to_vec();
        Ok(Self { log: Mutex::new(Some((log, first))), comments, use_memory })
    }

    /// The comments before the first job, and some after it.
    #[getter]
    fn comments(&self) -> Vec<String> {
        self.comments.clone()
    }

    /// Simulate the log. `progress(finished, now)` is called occasionally, and `answer` is the path of the table of
    /// jobs.
    ///
    /// `events` is an iterator of lists of external events in time order, each (time, kind, job, ranges of nodes,
    /// value, kills), and is read during the run; the nodes of `absent` are missing at the beginning. `overheads` are
    /// sampled block by block.
    #[pyo3(signature = (machine, policy, *, walltime, order_at_instant, job_check, answer=None, progress=None, events=None, absent=vec![], overheads=None))]
    #[allow(clippy::too_many_arguments)] // They are the keywords of a Python function.
    fn run<'py>(
        &self,
        py: Python<'py>,
        machine: Machine,
        policy: PolicyNames,
        walltime: &str,
        order_at_instant: &str,
        job_check: &str,
        answer: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        events: Option<Bound<'py, PyIterator>>,
        absent: Vec<u32>,
        overheads: Option<StreamedOverheads<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.log.lock().ok().and_then(|mut log| log.take());
        let (log, first) = taken.ok_or_else(|| PyRuntimeError::new_err("this stream has been run"))?;
        let amounts = machine.amounts();
        let resources = machine.resources.len();
        let node_count = (amounts.len() / resources.max(1)) as u32;
        let node_sets = Arc::new(NodeSets::whole(node_count));
        let requests = Requests::new(resources, &amounts);
        let mut scenario = Scenario::new(Vec::new(), Vec::new(), requests, Arc::clone(&node_sets));
        if log.parser().options().log_events {
            // A column that is not empty indicates that jobs may be cancelled.
            scenario.attributes.cancelled_at.push(f64::INFINITY);
        }
        scenario.core = machine.index("core");
        scenario.wall_time = parse_wall_time(walltime)?;
        scenario.job_check = parse_job_check(job_check)?;
        let capacities = Capacities { resources, amounts, node_sets, has_calendar: false };
        let policy = PolicyChoice::try_from(policy)?;
        if policy.slurm.is_some() {
            let rule = "slurm checks all jobs before a run; leave --stream out";
            return Err(PyValueError::new_err(rule));
        }
        let names: Vec<&str> = FORMULA_NAMES.into_iter().chain(FIELD_NAMES).collect();
        let options = StreamOptions {
            processor: machine.processor.clone(),
            memory: if self.use_memory { machine.index("mem") } else { None },
            resources: machine.resources.clone(),
            capacity: machine.totals(),
            absent: absent.into_iter().filter(|&node| node < node_count).collect(),
            core: machine.index("core"),
            keep_fields: policy.order == "expression",
        };
        let parts = policy.parts(&capacities, &names).map_err(PyValueError::new_err)?;
        let state = State::new(JobRecords::default(), capacities.machine());
        let events =
            events.map(|events| Box::new(ReadEvents::new(events.unbind(), node_count)) as EventSource);
        let (given, drawn) = overheads.map(StreamedOverheads::parts).unzip();
        scenario.overheads = given.map(Box::new);
        let feed = Stream::open(log, first, options, events, drawn, answer.as_deref()).map_err(ended)?;
        let agenda = parse_agenda(order_at_instant)?;
        let mut simulation = Simulation::new(scenario, state, parts, agenda, feed);
        while py.detach(|| simulation.run_a_while()).map_err(ended)? {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (simulation.state().finished, simulation.state().now))?;
            }
        }
        if simulation.failure().is_some() {
            return Err(failed(py, &simulation));
        }
        let (feed, scenario, state) = simulation.into_parts();
        let notes = notes(py, feed.parser())?;
        let (summary, mut found) = py.detach(|| feed.finish(&scenario, &state)).map_err(ended)?;
        let result = PyDict::new(py);
        result.set_item("notes", notes)?;
        result.set_item("metrics", metrics(py, &summary, &machine.resources)?)?;
        result.set_item("log", beside(py, &mut found.both, &machine.resources, &machine.totals())?)?;
        result.set_item("asked", (found.without_limit, found.with_memory))?;
        Ok(result)
    }
}

/// The number of lines read, and the notes on them: counts by outcome and reason.
fn notes<'py>(py: Python<'py>, parser: &SwfParser) -> PyResult<Bound<'py, PyDict>> {
    let notes = PyDict::new(py);
    notes.set_item("read", parser.rows())?;
    notes.set_item("kept", parser.kept())?;
    notes.set_item("parts", parser.parts())?;
    for kind in ["dropped", "mended", "noted"] {
        let counts = PyDict::new(py);
        for &reason in Reason::ALL {
            let count = parser.notes().count(reason);
            if outcome(reason) == kind && count > 0 {
                counts.set_item(reason.text(), count)?;
            }
        }
        notes.set_item(kind, counts)?;
    }
    Ok(notes)
}

fn ended(error: StreamError) -> PyErr {
    match error {
        StreamError::Log(error) => raised(error),
        StreamError::Unsorted { line, .. } => PyValueError::new_err((line, error.to_string())),
        // The exception of the iterator is the inner error.
        StreamError::Events(error) | StreamError::Overheads(error) => error.into(),
        StreamError::Output(error) => PyOSError::new_err(error),
    }
}
