//! `SwfStream`: a log simulated while it is read.
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use batchlab_kernel::cluster::{NodeSets, Requests};
use batchlab_kernel::priority::FORMULA_NAMES;
use batchlab_kernel::scenario::Scenario;
use batchlab_kernel::scheduler::{Capacities, PolicyChoice};
use batchlab_kernel::simulation::Simulation;
use batchlab_kernel::state::{JobRecords, State};
use batchlab_kernel::stream::{Described, EventSource, Stream, StreamError, StreamOptions, Summary};
use batchlab_kernel::workload::Rejection;
use batchlab_kernel::workload::swf::{FIELD_NAMES, Reason, SwfError, SwfFile, SwfParser, SwfRecord};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::external_events::ReadEvents;
use crate::policy::PolicyNames;
use crate::simulation::{failed, parse_agenda, parse_job_check, parse_wall_time};
use crate::source;
use crate::streamed_overheads::StreamedOverheads;
use crate::swf::{options, outcome, raised};

const MEASURES: [&str; 5] = ["wait", "turnaround", "slowdown", "bounded_slowdown", "per_processor_slowdown"];
const QUANTILES: [&str; 4] = ["median", "p95", "p99", "max"];

/// The machine of a streamed run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Machine {
    /// Names of the resources.
    resources: Vec<String>,
    /// Number of nodes, and what each has, group by group.
    groups: Vec<(usize, Vec<i64>)>,
    /// What one processor is, per resource.
    processor: Vec<i64>,
}

impl Machine {
    fn index(&self, name: &str) -> Option<usize> {
        self.resources.iter().position(|resource| resource == name)
    }

    fn amounts(&self) -> Vec<i64> {
        self.groups.iter().flat_map(|(count, amounts)| amounts.repeat(*count)).collect()
    }

    fn totals(&self) -> Vec<i64> {
        let total =
            |resource| self.groups.iter().map(|(count, amounts)| *count as i64 * amounts[resource]).sum();
        (0..self.resources.len()).map(total).collect()
    }
}

/// A log that is opened, its comments read up to the first job.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfStream {
    log: Mutex<Option<(SwfFile, Option<SwfRecord>)>>,
    comments: Vec<String>,
    use_memory: bool,
}

#[pymethods]
impl SwfStream {
    #[new]
    #[pyo3(signature = (path, *, overrun, invalid, processors, use_memory))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        overrun: &str,
        invalid: &str,
        processors: &str,
        use_memory: bool,
    ) -> PyResult<Self> {
        let options = options(overrun, invalid, processors, use_memory)?;
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

    /// Simulates the log; `progress(finished, now)` is called now and then, and `answer` gets the table of jobs.
    ///
    /// `events` gives lists of external events by time, each (time, kind, job, ranges of nodes, value, kills), and is
    /// read as they come; the nodes of `absent` are not there from the beginning. `overheads` are drawn block by block.
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
        let summary = py.detach(|| feed.finish(&scenario, &state)).map_err(ended)?;
        let result = PyDict::new(py);
        result.set_item("notes", notes)?;
        result.set_item("metrics", metrics(py, &summary, &machine.resources)?)?;
        Ok(result)
    }
}

/// How many lines were read, and what was said of them: counts by outcome and reason.
fn notes<'py>(py: Python<'py>, parser: &SwfParser) -> PyResult<Bound<'py, PyDict>> {
    let notes = PyDict::new(py);
    notes.set_item("read", parser.rows())?;
    notes.set_item("kept", parser.kept())?;
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

/// The aggregates under the names, and in the order, of `batchlab.metrics.overview`.
fn metrics<'py>(py: Python<'py>, summary: &Summary, resources: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let metrics = PyDict::new(py);
    let [queued, running, completed, killed] = summary.states;
    let rejected: u64 = summary.rejected.iter().sum();
    let jobs = PyDict::new(py);
    jobs.set_item("submitted", queued + running + completed + killed + rejected)?;
    jobs.set_item("loaded", 0)?;
    for (state, count) in [("queued", queued), ("running", running), ("completed", completed)] {
        jobs.set_item(state, count)?;
    }
    for (state, count) in [("killed", killed), ("rejected", rejected)] {
        jobs.set_item(state, count)?;
    }
    metrics.set_item("jobs", jobs)?;
    for (name, described) in MEASURES.iter().zip(&summary.described) {
        metrics.set_item(name, described_as_dict(py, described)?)?;
    }
    metrics.set_item("makespan", summary.makespan)?;
    let ran = summary.ran as f64;
    metrics.set_item("throughput", summary.makespan.filter(|span| *span > 0.0).map(|span| ran / span))?;
    metrics.set_item("utilisation", by_resource(py, resources, &summary.utilisation)?)?;
    let queue = PyDict::new(py);
    queue.set_item("mean", summary.mean_queue)?;
    queue.set_item("max", summary.longest_queue)?;
    metrics.set_item("queue_length", queue)?;
    metrics.set_item("loss_of_capacity", by_resource(py, resources, &summary.lost)?)?;
    if rejected > 0 {
        let reasons = PyDict::new(py);
        for (reason, count) in Rejection::ALL.iter().zip(summary.rejected).filter(|(_, count)| *count > 0) {
            reasons.set_item(reason.name(), count)?;
        }
        metrics.set_item("rejected", reasons)?;
    }
    if let Some(interrupted) = summary.interrupted {
        let cut_short = PyDict::new(py);
        cut_short.set_item("runs", interrupted.runs)?;
        cut_short.set_item("jobs", interrupted.jobs)?;
        cut_short.set_item("lost_time", interrupted.lost_time)?;
        metrics.set_item("interrupted", cut_short)?;
    }
    Ok(metrics)
}

fn described_as_dict<'py>(py: Python<'py>, described: &Described) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("mean", described.mean)?;
    for (index, name) in QUANTILES.iter().enumerate() {
        result.set_item(name, described.quantiles.map(|quantiles| quantiles[index]))?;
    }
    Ok(result)
}

fn by_resource<'py>(
    py: Python<'py>,
    names: &[String],
    shares: &[Option<f64>],
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, share) in names.iter().zip(shares) {
        result.set_item(name, share)?;
    }
    Ok(result)
}

fn ended(error: StreamError) -> PyErr {
    match error {
        StreamError::Log(error) => raised(error),
        StreamError::Unsorted { line, .. } => PyValueError::new_err((line, error.to_string())),
        // What the iterator raised is the inner error.
        StreamError::Events(error) | StreamError::Overheads(error) => error.into(),
        StreamError::Output(error) => PyOSError::new_err(error),
    }
}
