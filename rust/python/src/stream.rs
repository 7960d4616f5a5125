//! `SwfStream`: simulation of a log while it is read.
use std::path::PathBuf;
use std::sync::Mutex;

use batchlab_kernel::stream::{EventSource, Stream, StreamError, StreamOptions};
use batchlab_kernel::workload::swf::{FIELD_NAMES, Reason, SwfError, SwfFile, SwfParser, SwfRecord};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::external_events::ReadEvents;
use crate::inputs::{Machine, RunRules};
use crate::measured::{beside, metrics};
use crate::policy::PolicyNames;
use crate::simulation::{built, failed};
use crate::sleep::SleepInputs;
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
    /// value, kills), and is read during the run; the nodes of `absent` are missing at the beginning. Jobs may be
    /// requeued if `requeue` is true. `overheads` are sampled block by block, and `sleep` has the rules of sleeping
    /// nodes.
    #[pyo3(signature = (machine, policy, rules, *, answer=None, progress=None, events=None, absent=vec![], requeue=true, overheads=None, sleep=None))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of a Python function")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        machine: Machine,
        policy: PolicyNames,
        rules: RunRules,
        answer: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        events: Option<Bound<'py, PyIterator>>,
        absent: Vec<u32>,
        requeue: bool,
        overheads: Option<StreamedOverheads<'py>>,
        sleep: Option<SleepInputs<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.log.lock().ok().and_then(|mut log| log.take());
        let (log, first) = taken.ok_or_else(|| PyRuntimeError::new_err("this stream has been run"))?;
        let mut run = machine.description(policy.try_into()?, &rules)?;
        run.columns = FIELD_NAMES.map(str::to_owned).to_vec();
        if log.parser().options().log_events {
            // A column that is not empty indicates that jobs may be cancelled.
            run.scenario.attributes.cancelled_at.push(f64::INFINITY);
        }
        let nodes = run.nodes() as u32;
        let options = StreamOptions {
            processor: machine.processor.clone(),
            memory: if self.use_memory { machine.index("mem") } else { None },
            resources: machine.resources.clone(),
            capacity: machine.totals(),
            absent: absent.into_iter().filter(|&node| node < nodes).collect(),
            core: machine.index("core"),
            keep_fields: run.policy.order == "expression",
            can_sleep: sleep.is_some(),
            can_requeue: requeue,
        };
        let events = events.map(|events| Box::new(ReadEvents::new(events.unbind(), nodes)) as EventSource);
        let (given, drawn) = overheads.map(StreamedOverheads::parts).unzip();
        run.scenario.overheads = given.map(Box::new);
        run.scenario.sleep = sleep.map(|sleep| sleep.rules(run.nodes()).map(Box::new)).transpose()?;
        let feed = Stream::open(log, first, options, events, drawn, answer.as_deref()).map_err(ended)?;
        let mut simulation = built(py, run, feed)?;
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
        let of_log = notes(py, feed.parser())?;
        let (summary, mut found) = py.detach(|| feed.finish(&scenario, &state)).map_err(ended)?;
        let result = PyDict::new(py);
        result.set_item("notes", of_log)?;
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
