//! Simulation of a log while it is read: memory for the active jobs only, independent of the log's length.
//!
//! The output lines are restored to the log's order through temporary files, and quantiles are computed from a file of
//! every job's measures, so that only these files grow with the log.
mod events;
mod lines;
mod overheads;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::cluster::Request;
use crate::measures::{Both, Summary, Tally, Times, is_there};
use crate::scenario::Scenario;
use crate::simulation::Feed;
use crate::state::{Reason, State, View};
use crate::time::Time;
use crate::workload::swf::{FIELD_NAMES, Overrun, SwfError, SwfFile, SwfParser, SwfRecord};
use crate::workload::{ExternalEvent, Job, JobState};

use events::Events;
pub use events::{EventSource, GivenEvent};
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
    /// The amount of each resource of one processor.
    pub processor: Vec<i64>,
    /// The resource of a processor's memory, if memory is read from the log.
    pub memory: Option<usize>,
    /// The names of the resources.
    pub resources: Vec<String>,
    /// Total capacity of each resource.
    pub capacity: Vec<i64>,
    /// Nodes that are added by an external event before any removes them.
    pub absent: Vec<u32>,
    /// The resource that counts as processors in the slowdown per processor.
    pub core: Option<usize>,
    /// True if formulas need the log's fields.
    pub keep_fields: bool,
    /// True if nodes may sleep.
    pub can_sleep: bool,
    /// True if jobs may be requeued to run again from their start.
    pub can_requeue: bool,
}

/// Maximum number of jobs with waits in memory, for each of two schedules: 0.1 MB.
const MOST_IN_MEMORY: usize = 1 << 14;

/// The schedule in the log beside the simulated one, and further facts of the log.
pub struct Beside {
    /// Both schedules.
    pub both: Both,
    /// Number of jobs whose time limit is not known to be above the run time.
    pub without_limit: u64,
    /// Number of jobs whose requested memory the log has.
    pub with_memory: u64,
}

/// An active job, by its slot.
struct Alive {
    row: u64,
    record: SwfRecord,
}

/// The feed: reads jobs from a log, and adds finished jobs to the measures and the output.
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
    tally: Tally,
    beside: Beside,
    lines: Option<OrderedLines>,
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
        let tally = Tally::new(directory, options.capacity.clone(), options.core);
        let both = Both::new(options.capacity.len(), directory, MOST_IN_MEMORY);
        let mut stream = Self {
            log,
            next: first,
            row: 0,
            alive: Vec::new(),
            events: events.map(Box::new),
            overheads: overheads.map(Box::new),
            tally,
            beside: Beside { both, without_limit: 0, with_memory: 0 },
            lines,
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

    /// Ends a run: completes the output file, and returns the measures.
    pub fn finish(mut self, scenario: &Scenario, state: &State) -> Result<(Summary, Beside), StreamError> {
        self.take_the_rest(View { scenario, state })?;
        if let Some(lines) = self.lines {
            lines.finish()?;
        }
        Ok((self.tally.finish(scenario.first_submission)?, self.beside))
    }

    /// Counts and writes the jobs that are still waiting or running at the end.
    fn take_the_rest(&mut self, view: View<'_>) -> Result<(), StreamError> {
        let is_left = |slot: &u32| is_there(view.state.jobs.state(*slot));
        let rest: Vec<u32> = (0..self.alive.len() as u32).filter(is_left).collect();
        if rest.is_empty() {
            return Ok(());
        }
        let reasons: HashMap<u32, Reason> = view.reasons().into_iter().collect();
        for slot in rest {
            self.tally.left(view, slot);
            let named = |&(_, reason): &(&str, Reason)| reasons.get(&slot) == Some(&reason);
            self.write_line(view, slot, Reason::NAMED.iter().find(|pair| named(pair)).map(|pair| pair.0))?;
        }
        Ok(())
    }

    /// Adds a job that ended to the schedules of the jobs that ran in the log and in the simulation.
    fn put_beside(&mut self, view: View<'_>, job: u32) -> io::Result<()> {
        let (jobs, record) = (&view.state.jobs, &self.alive[job as usize].record);
        let (start, end) = (jobs.start_time(job), jobs.end_time(job));
        let counts = !start.is_nan() && !end.is_nan() && jobs.state(job) != JobState::Cancelled;
        let Some(logged) = record.logged_start().filter(|_| counts) else { return Ok(()) };
        let run = if jobs.state(job) == JobState::Killed { end - start } else { record.run_time };
        let times = Times { submit: record.submit_time, start, end, run };
        let held = self.options.processor.iter().enumerate().map(|(resource, &each)| {
            let amount = if self.options.memory == Some(resource) { record.memory } else { each };
            amount * i64::from(record.tasks)
        });
        self.beside.both.add(logged, record.run_time, times, held)
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

    fn request(&self, record: &SwfRecord) -> Request {
        let mut amounts = self.options.processor.clone();
        if let Some(memory) = self.options.memory {
            amounts[memory] = record.memory;
        }
        Request { amounts, ..Request::NOTHING }
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
        if self.options.memory.is_some() {
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
        let asked = Asked { memory: self.options.memory.map(|_| record.memory), has_limit };
        lines.write(*row, |line| {
            lines::format_job(line, view, job, record, self.tally.held(), asked, reason);
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
        self.beside.without_limit += u64::from(record.requested_time <= record.run_time);
        self.beside.with_memory += u64::from(record.asks_memory());
        let request = scenario.requests.intern(self.request(&record));
        let mut job = Job {
            row: self.row,
            submit_time: record.submit_time,
            run_time: record.cancelled_after.unwrap_or(record.run_time),
            requested_time: record.requested_time,
            time_limit: record.time_limit,
            tasks: record.tasks,
            request,
        };
        let own = self.overheads.as_mut().map(|overheads| overheads.give(scenario, &mut job));
        let own = own.transpose().map_err(StreamError::Overheads)?;
        let slot = state.jobs.add(&job);
        if let (Some(own), Some(overheads)) = (own, &mut scenario.overheads) {
            overheads.put(slot, own);
        }
        scenario.put(slot, job, if self.options.keep_fields { &record.fields } else { &[] });
        let cancelled_at = record.cancelled_after.map(|seconds| record.submit_time + seconds);
        scenario.attributes.put_cancellation(slot, cancelled_at);
        if !self.options.can_requeue {
            scenario.attributes.forbid_requeue(slot);
        }
        let ahead = self.events.as_mut().map(|events| events.begin(record.job_id, slot)).unwrap_or_default();
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

    fn enqueued(&mut self, view: View<'_>, job: u32) {
        self.tally.enqueued(view, job);
    }

    fn started(&mut self, view: View<'_>, job: u32) {
        self.tally.started(view, job);
    }

    fn interrupted(&mut self, view: View<'_>, job: u32, saved: f64) {
        self.tally.interrupted(view, job, saved);
    }

    fn finished(&mut self, scenario: &Scenario, state: &mut State, job: u32) -> Result<(), StreamError> {
        let view = View { scenario, state };
        self.tally.finished(view, job, self.alive[job as usize].record.run_time)?;
        self.put_beside(view, job)?;
        self.write_line(view, job, None)?;
        if let Some(events) = &mut self.events {
            events.end(self.alive[job as usize].record.job_id, job);
        }
        state.short_runs.remove(&job);
        state.jobs.forget(job);
        Ok(())
    }
}
