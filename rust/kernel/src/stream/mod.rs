//! Simulation of a log while it is read: memory for the active jobs only, independent of the log's length.
//!
//! The output lines are restored to the log's order through temporary files, and quantiles are computed from a file of
//! every job's measures, so that only these files grow with the log.
mod events;
mod jobs;
mod lines;
mod overheads;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::measures::{Both, is_there};
use crate::scenario::Scenario;
use crate::simulation::Feed;
use crate::state::{Reason, State, View};
use crate::time::Time;
use crate::workload::ExternalEvent;
use crate::workload::swf::{FIELD_NAMES, Overrun, SwfError, SwfFile, SwfParser, SwfRecord};

use events::Events;
pub use events::{EventSource, GivenEvent};
pub use jobs::{LogCounts, LogJobs};
pub use lines::node_ranges;
use lines::{Asked, OrderedLines};
pub use overheads::{DrawnOverheads, OverheadSource, PHASES};

/// An error that ends a streamed run.
#[derive(Debug)]
pub enum StreamError {
    /// The log cannot be read.
    Log(SwfError),
    /// The log is not in the order of submit times.
    Unsorted {
        /// The line of the job with an earlier submit time.
        line: u64,
        /// Its submit time.
        submit_time: f64,
        /// The submit time of the job before.
        before: f64,
    },
    /// The log does not number its jobs in their order, which the events need.
    Unnumbered {
        /// The line of the job with a lower number.
        line: u64,
        /// Which rule it breaks.
        rule: String,
    },
    /// External events cannot be read.
    Events(io::Error),
    /// Overheads cannot be read.
    Overheads(io::Error),
    /// A temporary file or the answer cannot be written.
    Output(io::Error),
}

impl fmt::Display for StreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => error.fmt(formatter),
            Self::Unsorted { submit_time, before, .. } => write!(
                formatter,
                "submit time = {submit_time}; must be >= that of the job before, {before}, in a log that is streamed"
            ),
            Self::Unnumbered { rule, .. } => formatter.write_str(rule),
            Self::Events(error) | Self::Overheads(error) | Self::Output(error) => error.fmt(formatter),
        }
    }
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The options of a streamed run.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// What the jobs ask of the machine.
    pub jobs: LogJobs,
    /// The names of the resources.
    pub resources: Vec<String>,
    /// Nodes that are added by an external event before any removes them.
    pub absent: Vec<u32>,
    /// True if formulas need the log's fields.
    pub keep_fields: bool,
    /// True if nodes may sleep.
    pub can_sleep: bool,
    /// True if jobs may be requeued to run again from their start.
    pub can_requeue: bool,
}

/// Maximum number of jobs with waits in memory, for each of two schedules: 0.1 MB.
const MOST_IN_MEMORY: usize = 1 << 14;

/// An active job, by its slot.
struct Alive {
    row: u64,
    record: SwfRecord,
}

/// The feed: reads jobs from a log, and adds finished jobs to the output.
pub struct Stream {
    log: SwfFile,
    options: StreamOptions,
    next: Option<SwfRecord>,
    row: u64,
    alive: Vec<Alive>,
    /// None without external events.
    events: Option<Box<Events>>,
    /// None without overheads.
    overheads: Option<Box<DrawnOverheads>>,
    /// The schedule in the log, and the simulated one.
    both: Both,
    counts: LogCounts,
    lines: Option<OrderedLines>,
    /// The amount of each resource that a job held; kept for its memory.
    held: Vec<i64>,
}

impl Stream {
    /// Creates the feed from a log with its first job already read, external events, and overheads; the scenario
    /// defines how overheads count. `answer` is the path of `jobs.csv`; temporary files are in the same directory.
    pub fn open(
        log: SwfFile,
        first: Option<SwfRecord>,
        options: StreamOptions,
        events: Option<EventSource>,
        overheads: Option<DrawnOverheads>,
        answer: Option<&Path>,
    ) -> Result<Self, StreamError> {
        let first_submit = first.as_ref().map_or(Time::NEVER, |record| Time(record.submit_time));
        let removes_first = (!options.absent.is_empty()).then(|| Box::new(std::iter::empty()) as EventSource);
        let events = events
            .or(removes_first)
            .map(|source| Events::open(source, &options.absent, first_submit))
            .transpose()
            .map_err(StreamError::Events)?;
        let lines = answer.map(OrderedLines::create).transpose()?;
        let directory = answer.and_then(Path::parent);
        let both = Both::new(options.resources.len(), directory, MOST_IN_MEMORY);
        let mut stream = Self {
            log,
            next: first,
            row: 0,
            alive: Vec::new(),
            events: events.map(Box::new),
            overheads: overheads.map(Box::new),
            both,
            counts: LogCounts::default(),
            lines,
            held: Vec::new(),
            options,
        };
        stream.write_header()?;
        Ok(stream)
    }

    /// The parser of the log, for its comments, counts and notes.
    #[must_use]
    pub fn parser(&self) -> &SwfParser {
        self.log.parser()
    }

    /// Ends a run: completes the output file, and returns the schedule in the log beside the simulated one, and counts of
    /// the log.
    pub fn finish(mut self, scenario: &Scenario, state: &State) -> Result<(Both, LogCounts), StreamError> {
        self.write_the_rest(View { scenario, state })?;
        if let Some(lines) = self.lines {
            lines.finish()?;
        }
        Ok((self.both, self.counts))
    }

    /// Writes the jobs that are still waiting or running at the end.
    fn write_the_rest(&mut self, view: View<'_>) -> Result<(), StreamError> {
        let is_left = |slot: &u32| is_there(view.state.jobs.state(*slot));
        let rest: Vec<u32> = (0..self.alive.len() as u32).filter(is_left).collect();
        if rest.is_empty() || self.lines.is_none() {
            return Ok(());
        }
        let reasons: HashMap<u32, Reason> = view.reasons().into_iter().collect();
        for slot in rest {
            let named = |&(_, reason): &(&str, Reason)| reasons.get(&slot) == Some(&reason);
            self.write_line(view, slot, Reason::NAMED.iter().find(|pair| named(pair)).map(|pair| pair.0))?;
        }
        Ok(())
    }

    fn read_next(&mut self, now: f64) -> Result<(), StreamError> {
        self.next = self.log.next().transpose().map_err(StreamError::Log)?;
        match &self.next {
            Some(record) if record.submit_time < now => {
                Err(StreamError::Unsorted { line: record.line, submit_time: record.submit_time, before: now })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether requested times may differ from time limits.
    fn has_limits(&self) -> bool {
        self.log.parser().options().overrun == Overrun::Extend
    }

    fn write_header(&mut self) -> Result<(), StreamError> {
        let has_limits = self.has_limits();
        let Some(lines) = &mut self.lines else { return Ok(()) };
        let mut names =
            vec!["job_id", "state", "submit_time", "start_time", "end_time", "run_time", "requested_time"];
        names.extend(["tasks", "nodes", "reason"]);
        let mut header = names.join(",");
        for resource in &self.options.resources {
            header.push_str(",allocated_");
            header.push_str(resource);
        }
        if self.overheads.is_some() || self.options.can_sleep {
            header.push_str(",launch_time");
        }
        if self.overheads.is_some() {
            header.push_str(",completion_time");
        }
        if has_limits {
            header.push_str(",time_limit");
        }
        if self.options.jobs.has_memory() {
            header.push_str(",mem");
        }
        for field in lines::riding_fields() {
            header.push(',');
            header.push_str(FIELD_NAMES[field]);
        }
        lines.write_header(&header)?;
        Ok(())
    }

    fn write_line(&mut self, view: View<'_>, job: u32, reason: Option<&str>) -> Result<(), StreamError> {
        let has_limit = self.has_limits();
        let Some(lines) = &mut self.lines else { return Ok(()) };
        let Alive { row, record } = &self.alive[job as usize];
        let asked = Asked { memory: self.options.jobs.has_memory().then_some(record.memory), has_limit };
        view.state.held(view.scenario, job, &mut self.held);
        lines.write(*row, |line| {
            lines::format_job(line, view, job, record, &self.held, asked, reason);
        })?;
        Ok(())
    }
}

impl Feed for Stream {
    type Error = StreamError;

    const KEEPS_JOBS: bool = false;

    fn next_time(&self) -> Time {
        self.next.as_ref().map_or(Time::NEVER, |record| Time(record.submit_time))
    }

    fn submit(&mut self, scenario: &mut Arc<Scenario>, state: &mut State) -> Result<u32, StreamError> {
        let record = self.next.take().expect("submit is called only when a job is due");
        // A streamed run is never forked, so this does not copy.
        let scenario = Arc::make_mut(scenario);
        self.counts.add(&record);
        let mut job = self.options.jobs.job(self.row, &record, &mut scenario.requests);
        let own = self.overheads.as_mut().map(|overheads| overheads.give(scenario, &mut job));
        let own = own.transpose().map_err(StreamError::Overheads)?;
        let slot = state.jobs.add(&job);
        if let (Some(own), Some(overheads)) = (own, &mut scenario.overheads) {
            overheads.put(slot, own);
        }
        scenario.put(slot, job, if self.options.keep_fields { &record.fields } else { &[] });
        scenario.attributes.put_cancellation(slot, record.cancelled_at());
        if !self.options.can_requeue {
            scenario.attributes.forbid_requeue(slot);
        }
        let ahead = self.events.as_mut().map(|events| events.begin(record.job_id, slot)).transpose();
        let ahead = ahead.map_err(|rule| StreamError::Unnumbered { line: record.line, rule })?;
        let ahead = ahead.unwrap_or_default();
        if ahead.is_held {
            state.held_ahead.insert(slot);
        }
        if ahead.priority.is_some() {
            state.fix_ahead(slot, ahead.priority);
        }
        let submit_time = record.submit_time;
        let entry = Alive { row: self.row, record };
        if slot as usize == self.alive.len() {
            self.alive.push(entry);
        } else {
            self.alive[slot as usize] = entry;
        }
        self.row += 1;
        self.read_next(submit_time)?;
        Ok(slot)
    }

    fn next_event_time(&self) -> Time {
        self.events.as_ref().map_or(Time::NEVER, |events| events.next_time())
    }

    fn take_event(&mut self, _: &Scenario) -> Result<Option<ExternalEvent>, StreamError> {
        match &mut self.events {
            Some(events) => events.take().map_err(StreamError::Events),
            None => Ok(None),
        }
    }

    fn run_time(&self, _: &Scenario, job: u32) -> f64 {
        self.alive[job as usize].record.run_time
    }

    fn finished(&mut self, scenario: &Scenario, state: &mut State, job: u32) -> Result<(), StreamError> {
        let view = View { scenario, state };
        self.options.jobs.compare(view, job, &self.alive[job as usize].record, &mut self.both)?;
        self.write_line(view, job, None)?;
        if let Some(events) = &mut self.events {
            events.end(self.alive[job as usize].record.job_id, job);
        }
        state.short_runs.remove(&job);
        state.jobs.forget(job);
        Ok(())
    }
}
