//! `SwfStream`: simulation of a log while it is read.
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use batchlab_kernel::measures::Tally;
use batchlab_kernel::stream::{EventSource, LogJobs, Stream, StreamError, StreamOptions};
use batchlab_kernel::workload::swf::{
    FIELD_NAMES, Reason, SwfError, SwfFile, SwfOptions, SwfParser, SwfRecord,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::external_events::ReadEvents;
use crate::inputs::RunInputs;
use crate::measured::{beside, metrics};
use crate::simulation::{built, failed};
use crate::source;
use crate::streamed_overheads::StreamedOverheads;
use crate::swf::{SwfReading, outcome, raised};

/// An open log; its comments have been read up to the first job.
#[pyclass(module = "batchlab._kernel")]
pub struct SwfStream {
    log: Mutex<Option<(SwfFile, Option<SwfRecord>)>>,
    comments: Vec<String>,
}

#[pymethods]
impl SwfStream {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, options: SwfReading) -> PyResult<Self> {
        let options = SwfOptions::try_from(&options)?;
        let opened = py.detach(|| {
            let mut log = SwfFile::new(source::open(&path).map_err(SwfError::Io)?, options)?;
            let first = log.next().transpose()?;
            Ok::<_, SwfError>((log, first))
        });
        let (log, first) = opened.map_err(raised)?;
        let comments = log.parser().comments().to_vec();
        Ok(Self { log: Mutex::new(Some((log, first))), comments })
    }

    /// The comments before the first job, and some after it.
    #[getter]
    fn comments(&self) -> Vec<String> {
        self.comments.clone()
    }

    /// Simulate the log; `inputs` have no columns. `progress(finished, now)` is called occasionally, and `answer` is the
    /// path of the table of jobs.
    ///
    /// `events` is an iterator of lists of external events in time order, each (time, kind, job, ranges of nodes,
    /// value, kills), and is read during the run; the nodes of `absent` are missing at the beginning. Jobs may be
    /// requeued if `requeue` is true. `overheads` are sampled block by block.
    #[pyo3(signature = (inputs, *, answer=None, progress=None, events=None, absent=vec![], requeue=true, overheads=None))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of a Python function")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: RunInputs<'py>,
        answer: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        events: Option<Bound<'py, PyIterator>>,
        absent: Vec<u32>,
        requeue: bool,
        overheads: Option<StreamedOverheads<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.log.lock().ok().and_then(|mut log| log.take());
        let (log, first) = taken.ok_or_else(|| PyRuntimeError::new_err("this stream has been run"))?;
        let machine = inputs.machine.clone();
        let mut run = inputs.description(py)?;
        run.columns = FIELD_NAMES.map(str::to_owned).to_vec();
        let given = log.parser().options();
        if given.log_events {
            // A column that is not empty indicates that jobs may be cancelled.
            run.scenario.attributes.cancelled_at.push(f64::INFINITY);
        }
        let nodes = run.nodes() as u32;
        let memory = machine.index("mem").filter(|_| given.use_memory);
        let options = StreamOptions {
            jobs: LogJobs::new(machine.processor.clone(), memory),
            resources: machine.resources.clone(),
            absent: absent.into_iter().filter(|&node| node < nodes).collect(),
            keep_fields: run.policy.order == "expression",
            can_sleep: run.scenario.sleep.is_some(),
            can_requeue: requeue,
        };
        let events = events.map(|events| Box::new(ReadEvents::new(events.unbind(), nodes)) as EventSource);
        let (given, drawn) = overheads.map(StreamedOverheads::parts).unzip();
        run.scenario.overheads = given.map(Box::new);
        let directory = answer.as_deref().and_then(Path::parent);
        run.recorders.tally = Tally::new(directory, machine.totals(), run.scenario.core).into();
        let feed = Stream::open(log, first, options, events, drawn, answer.as_deref()).map_err(ended)?;
        let mut simulation = built(py, run, feed)?;
        while py.detach(|| simulation.run_a_while()).map_err(ended)?
            && !simulation.recorders().tally.is_lost()
        {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (simulation.state().finished, simulation.state().now))?;
            }
        }
        if simulation.failure().is_some() {
            return Err(failed(py, &simulation));
        }
        let summary = py.detach(|| simulation.take_summary())?;
        let (feed, scenario, state) = simulation.into_parts();
        let of_log = notes(py, feed.parser())?;
        let (mut both, counts) = py.detach(|| feed.finish(&scenario, &state)).map_err(ended)?;
        let result = PyDict::new(py);
        result.set_item("notes", of_log)?;
        let measured = summary.map(|summary| metrics(py, &summary, &machine.resources)).transpose()?;
        result.set_item("metrics", measured)?;
        result.set_item("log", beside(py, &mut both, &machine.resources, &machine.totals())?)?;
        result.set_item("asked", (counts.without_limit, counts.with_memory))?;
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
        StreamError::Unsorted { line, .. } | StreamError::Unnumbered { line, .. } => {
            PyValueError::new_err((line, error.to_string()))
        }
        // The exception of the iterator is the inner error.
        StreamError::Events(error) | StreamError::Overheads(error) => error.into(),
        StreamError::Output(error) => PyOSError::new_err(error),
    }
}
