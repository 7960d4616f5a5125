//! Gates of waiting jobs (S15), as intervals: what would have to go for a job to start.
//!
//! The log keeps the jobs of the queue by submission, each with its gate since when, so that a look at them is one walk
//! over an array. Who looks, and when, is in `simulation/gates.rs`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cluster::Request;
use crate::index::SharedColumn;
use crate::record::column::{Columns, Log};
use crate::state::TotalHead;
use crate::time::Time;

mod by_totals;

pub use by_totals::{ByTotals, Found};

/// The kind of a gate, in the order in which the first one that holds is looked for, except those after `Window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GateKind {
    /// On hold.
    Held,
    /// Its dependencies are not satisfied.
    Dependency,
    /// Its begin time is in the future.
    BeginTime,
    /// The limit of concurrent tasks of its array is reached.
    ArrayLimit,
    /// It has released its nodes for a job that still waits.
    Promised,
    /// It could not end within the reservation that it uses.
    OwnReservation,
    /// It is over a limit.
    Limit,
    /// It would not fit even if no job ran.
    Unavailable,
    /// It does not fit on what is free.
    Resources,
    /// It would be in the way of a reservation.
    Window,
    /// No pass has come upon it.
    NotLookedAt,
    /// The pass stopped before it.
    Order,
    /// It would delay a job with a reservation.
    WouldDelay,
    /// A discipline, or a scheduler outside the kernel, has not started it.
    Policy,
    /// The allocator outside the kernel has refused it, or the rule has refused its nodes.
    Allocator,
    /// It waited before the first pass of a run that begins in the middle.
    BeforeState,
}

impl GateKind {
    /// The kinds with their names, in the order of their numbers.
    pub const NAMES: [(&str, Self); 16] = [
        ("held", Self::Held),
        ("dependency", Self::Dependency),
        ("begin_time", Self::BeginTime),
        ("array_limit", Self::ArrayLimit),
        ("promised", Self::Promised),
        ("own_reservation", Self::OwnReservation),
        ("limit", Self::Limit),
        ("unavailable", Self::Unavailable),
        ("resources", Self::Resources),
        ("window", Self::Window),
        ("not_looked_at", Self::NotLookedAt),
        ("order", Self::Order),
        ("would_delay", Self::WouldDelay),
        ("policy", Self::Policy),
        ("allocator", Self::Allocator),
        ("before_state", Self::BeforeState),
    ];
}

/// No subject or detail.
pub const NONE: u32 = u32::MAX;

/// Subject of `order` while the pass stops at one job, whichever this is: the log has these jobs once for all that wait
/// behind them.
pub const STOPPER: u32 = u32::MAX - 1;

/// Detail of `resources`: held by jobs that did not overtake.
pub const EARLIER: u32 = 0;

/// Detail of `resources`: held by overtakers.
pub const OVERTAKERS: u32 = 1;

/// Detail of `resources`: held by jobs that will release their nodes for this one.
pub const VICTIMS: u32 = 2;

/// Detail of `resources`: the nodes are free, and Slurm's selection does not use them.
pub const SELECTION: u32 = 3;

/// Detail of `resources`: a call of Slurm's controller has preempted others for the job.
pub const PREEMPTED: u32 = 4;

/// What would have to go for a job to start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The kind.
    pub kind: GateKind,
    /// The slot of a job, or the number of a reservation, limit or resource, as the kind has it; or [`NONE`].
    pub subject: u32,
    /// [`EARLIER`], [`OVERTAKERS`], [`VICTIMS`], [`SELECTION`] or [`PREEMPTED`], the number of the limit that stopped a pass,
    /// or that of the parameter that stopped a call of Slurm's controller; or [`NONE`].
    pub detail: u32,
}

impl Gate {
    /// A gate of a kind, without subject or detail.
    #[must_use]
    pub fn of(kind: GateKind) -> Self {
        Self { kind, subject: NONE, detail: NONE }
    }
}

/// The numbers of a gate at the begin of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Amount of the resource, or tasks, that the job asks for; -1 for none.
    pub asked: i64,
    /// Amount or slots that are free; -1 for none.
    pub free: i64,
    /// Seconds by which the job would delay another one; NaN for none.
    pub delay: f64,
    /// Seconds until the job would have to be over; NaN for none.
    pub hole: f64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { asked: -1, free: -1, delay: f64::NAN, hole: f64::NAN }
    }
}

/// Properties of jobs that fit alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobKind {
    /// Request in the first node set.
    pub request: u32,
    /// Index of the list of requests in all node sets.
    pub alternatives: u32,
    /// Number of tasks.
    pub tasks: u32,
    /// On a machine with reservations, the time limit as ordered bits; that of calls under Slurm's controller.
    pub time_limit: i64,
    /// The reservation that the jobs use; [`NONE`] for none.
    pub reservation: u32,
    /// 1 + the slot of a job that was submitted before it entered the queue, since fewer jobs overtake it; otherwise 0.
    pub apart: u32,
}

/// The result of a trial of jobs of one kind, in the node set of the last gate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    /// The look at which this was found.
    pub epoch: u64,
    /// `Unavailable`, `Resources` or `Window`; None if jobs of the kind fit.
    pub gate: Option<GateKind>,
    /// The request of the node set.
    pub request: u32,
    /// The resource that they lack most, or the reservation in the way; [`NONE`] for none.
    pub subject: u32,
    /// Jobs of the kind that were submitted before this would fit without overtakers; None if none would.
    pub below: Option<Submission>,
    /// True if the rest differs from the look before.
    pub has_changed: bool,
    /// The amounts that jobs of the kind ask for, and the free ones, once computed.
    pub amounts: Option<(i64, i64)>,
    /// Where jobs of the kind would start, once it was asked for.
    pub trial: Option<FitTrial>,
}

/// Where jobs of a kind that fit would start.
#[derive(Clone, Copy, Debug)]
pub struct FitTrial {
    /// The look at which this was found.
    pub look: u64,
    /// The head there.
    pub head: Option<u32>,
    /// Since when their estimates would count.
    pub ready: f64,
    /// The shadow time of the head.
    pub shadow: f64,
    /// True if the head would not fit then beside such a job; None until it is asked for.
    pub takes: Option<bool>,
    /// The earliest instant at which it would fit beside a job that never ends; None until it is asked for.
    pub beside: Option<f64>,
}

/// What the latest look found, so that the next one examines less.
#[derive(Clone, Debug, Default)]
pub struct GateMemo {
    /// Number of the latest look.
    pub look: u64,
    /// Number of the latest look that repeated all trials.
    pub epoch: u64,
    /// The machine's change counter then.
    pub changes: Option<u64>,
    /// By kind of job.
    pub fits: Vec<Fit>,
    /// The jobs on which gates of the rule depend.
    pub ahead: Vec<Option<u32>>,
    /// The requests for whole nodes, where all jobs get these.
    pub whole: Vec<Request>,
    /// True if some gate may change without a change of the machine or of these jobs.
    pub is_unsettled: bool,
    /// True if all jobs that fit had the gate `order` behind one job, but that job.
    pub was_behind_one: bool,
    /// The waiting jobs, where one free amount decides which of them fit; None if it does not, or this is not known.
    pub totals: Option<ByTotals>,
    /// The head of EASY, where one amount decides when it starts.
    pub head: Option<TotalHead>,
}

impl GateMemo {
    /// Begins a look, with the jobs `ahead` on which gates of the rule depend. Returns whether gates that are known may have
    /// changed since the latest one; they do if it `varies`.
    pub fn begin(
        &mut self,
        changes: u64,
        ahead: impl Iterator<Item = Option<u32>> + Clone,
        varies: bool,
        is_unsettled: bool,
    ) -> bool {
        let changes = Some(changes);
        let is_full = varies
            || self.is_unsettled
            || self.changes != changes
            || !self.ahead.iter().copied().eq(ahead.clone());
        self.ahead.clear();
        self.ahead.extend(ahead);
        (self.changes, self.is_unsettled) = (changes, is_unsettled);
        self.epoch += u64::from(is_full);
        self.look += 1;
        is_full
    }
}

/// The position of a job in the order of submissions.
pub type Submission = (Time, u64);

/// A job of the queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// Its submission.
    pub submission: Submission,
    /// The job.
    pub job: u32,
    /// When a look first found it in the queue.
    pub entered: f64,
    /// Its gate; None before it is known.
    pub gate: Option<Gate>,
    /// The numbers at the begin of the interval.
    pub numbers: Numbers,
    /// The begin of the interval.
    pub since: f64,
    /// The number of its kind of job, or [`NEW`] before a look needs it.
    pub kind: u32,
}

impl Waiting {
    /// Returns whether it was submitted before it entered the queue, so that fewer jobs overtake it.
    #[must_use]
    pub fn is_late(&self) -> bool {
        Time(self.entered) != self.submission.0
    }
}

/// A running job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Running {
    /// Its submission.
    pub submission: Submission,
    /// The job.
    pub job: u32,
    /// Its start.
    pub start: f64,
    /// What it holds of the first resource.
    pub held: i64,
}

/// Stands for the kind of a job whose gate is not known yet.
pub const NEW: u32 = u32::MAX;

/// The gates of jobs, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GateLog {
    /// The jobs of the queue at the latest look, by submission.
    pub waiting: Vec<Waiting>,
    /// The jobs outside the queue, with their gate and its begin.
    outside: BTreeMap<u32, (Gate, f64)>,
    /// Their kinds, or [`NEW`], so that a look reads little.
    pub marks: Vec<u32>,
    /// The running jobs by submission; after interruptions also some that have ended.
    pub running: Vec<Running>,
    kinds: BTreeMap<JobKind, u32>,
    /// True until the first look of a run that begins in the middle.
    pub begins: bool,
    /// The latest look.
    #[serde(skip)]
    pub memo: GateMemo,
    /// The intervals that are over.
    rows: SharedColumn<Row>,
    /// The jobs at which passes stopped, each with the instant since when they did so.
    stops: SharedColumn<(f64, u32)>,
}

/// An interval of a job at one gate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Row {
    job: u32,
    gate: Gate,
    numbers: Numbers,
    /// Begin, seconds.
    since: f64,
    /// End, seconds; NaN if it goes on.
    until: f64,
}

/// The intervals as a table.
#[derive(Default)]
struct Table {
    row: Vec<u32>,
    start: Vec<f64>,
    end: Vec<f64>,
    gate: Vec<u8>,
    subject: Vec<u32>,
    detail: Vec<u32>,
    asked: Vec<i64>,
    free: Vec<i64>,
    delay: Vec<f64>,
    hole: Vec<f64>,
}

impl Table {
    fn add(&mut self, Row { job, gate, numbers, since, until }: Row) {
        self.row.push(job);
        self.start.push(since);
        self.end.push(until);
        self.gate.push(gate.kind as u8);
        self.subject.push(gate.subject);
        self.detail.push(gate.detail);
        self.asked.push(numbers.asked);
        self.free.push(numbers.free);
        self.delay.push(numbers.delay);
        self.hole.push(numbers.hole);
    }
}

impl Log for GateLog {
    fn share(&mut self) {
        self.rows.share();
        self.stops.share();
    }

    /// The intervals that are over, then those that go on, whose ends are NaN. Those behind the jobs at which passes
    /// stopped are divided by these.
    fn columns(&self) -> Columns {
        let mut table = Table::default();
        let stops = self.stops.to_vec();
        let goes_on = |job, gate, numbers, since| Row { job, gate, numbers, since, until: f64::NAN };
        let waiting = self.waiting.iter();
        let waiting =
            waiting.filter_map(|each| Some(goes_on(each.job, each.gate?, each.numbers, each.since)));
        let outside = self.outside.iter();
        let outside = outside.map(|(&job, &(gate, since))| goes_on(job, gate, Numbers::default(), since));
        for row in self.rows.iter().copied().chain(waiting).chain(outside) {
            if row.gate.subject == STOPPER {
                divide(row, &stops, |part| table.add(part));
            } else {
                table.add(row);
            }
        }
        vec![
            ("row", table.row.into()),
            ("start", table.start.into()),
            ("end", table.end.into()),
            ("gate", table.gate.into()),
            ("subject", table.subject.into()),
            ("detail", table.detail.into()),
            ("asked", table.asked.into()),
            ("free", table.free.into()),
            ("delay", table.delay.into()),
            ("hole", table.hole.into()),
        ]
    }
}

/// Divide an interval behind the jobs at which passes stopped.
fn divide(row: Row, stops: &[(f64, u32)], mut add: impl FnMut(Row)) {
    let first = stops.partition_point(|&(begin, _)| begin <= row.since).saturating_sub(1);
    for (place, &(begin, subject)) in stops.iter().enumerate().skip(first) {
        if begin >= row.until {
            break;
        }
        let next = stops.get(place + 1).map(|&(next, _)| next);
        let until = next.filter(|next| row.until.is_nan() || *next < row.until).unwrap_or(row.until);
        add(Row { gate: Gate { subject, ..row.gate }, since: row.since.max(begin), until, ..row });
    }
}

impl GateLog {
    /// Adds an interval, unless it has no length.
    fn add(&mut self, job: u32, gate: Gate, numbers: Numbers, (since, until): (f64, f64)) {
        if until <= since {
            return;
        }
        self.rows.push(Row { job, gate, numbers, since, until });
    }

    /// Records the job at which the pass stopped.
    pub fn stop_at(&mut self, job: u32, now: f64) {
        match self.stops.last() {
            Some(&(_, last)) if last == job => {}
            // What changes within an instant is no interval.
            Some(&(since, _)) if since >= now => *self.stops.get_mut(self.stops.len() - 1) = (now, job),
            _ => self.stops.push((now, job)),
        }
    }

    /// Adds a job that is in the queue to those that are looked at, with the free amount that decides whether it fits, if one
    /// does. Returns false if it is one of them. O(jobs submitted after it).
    pub fn enter(&mut self, submission: Submission, job: u32, now: f64, need: Option<i64>) -> bool {
        let found = self.waiting.binary_search_by_key(&submission, |each| each.submission);
        if let Err(at) = found {
            let (gate, numbers) = (None, Numbers::default());
            let waiting = Waiting { submission, job, entered: now, gate, numbers, since: now, kind: NEW };
            self.waiting.insert(at, waiting);
            self.marks.insert(at, NEW);
            let need = need.filter(|_| Time(now) == submission.0);
            match (need, &mut self.memo.totals) {
                (Some(need), Some(totals)) => totals.enter(at, need, submission, &self.running),
                _ => self.memo.totals = None,
            }
        }
        found.is_err()
    }

    /// Adds a job that waits when a run begins in the middle, in the queue or outside. The first look examines it.
    pub fn begin(&mut self, submission: Submission, job: u32, is_in_queue: bool) {
        let (gate, since) = (Gate::of(GateKind::BeforeState), submission.0.0);
        if !is_in_queue {
            self.outside.insert(job, (gate, since));
            return;
        }
        self.begins = true;
        self.enter(submission, job, f64::INFINITY, None);
        if let Ok(at) = self.waiting.binary_search_by_key(&submission, |each| each.submission) {
            (self.waiting[at].gate, self.waiting[at].since) = (Some(gate), since);
        }
    }

    /// Adds the wait of a job that is over when a run begins in the middle.
    pub fn waited_before(&mut self, submission: Submission, job: u32, until: f64) {
        if until > submission.0.0 {
            let gate = Gate::of(GateKind::BeforeState);
            self.add(job, gate, Numbers::default(), (submission.0.0, until));
        }
    }

    /// Returns the number of a kind of job.
    pub fn kind_of(&mut self, kind: JobKind) -> u32 {
        let next = self.kinds.len() as u32;
        *self.kinds.entry(kind).or_insert(next)
    }

    /// Returns the number of kinds of jobs.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Removes a job of the queue that starts; its interval ends now.
    pub fn remove(&mut self, submission: Submission, now: f64) {
        if let Ok(at) = self.waiting.binary_search_by_key(&submission, |each| each.submission) {
            let each = self.waiting.remove(at);
            self.marks.remove(at);
            if let Some(totals) = &mut self.memo.totals {
                totals.leave(at);
            }
            if let Some(gate) = each.gate {
                self.add(each.job, gate, each.numbers, (each.since, now));
            }
        }
    }

    /// Removes the jobs of the queue for which `stays` is false; their intervals end now. Returns whether there are any.
    pub fn leave(&mut self, now: f64, stays: impl Fn(&Waiting) -> bool) -> bool {
        let Some(first) = self.waiting.iter().position(|each| !stays(each)) else { return false };
        self.memo.totals = None;
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut kept = first;
        for at in first..waiting.len() {
            let each = waiting[at];
            if stays(&each) {
                (waiting[kept], self.marks[kept]) = (each, self.marks[at]);
                kept += 1;
            } else if let Some(gate) = each.gate {
                self.add(each.job, gate, each.numbers, (each.since, now));
            }
        }
        waiting.truncate(kept);
        self.marks.truncate(kept);
        self.waiting = waiting;
        true
    }

    /// Records the gate of a job of the queue, which differs from the one before.
    pub fn change(&mut self, at: usize, gate: Gate, numbers: Numbers, now: f64) {
        let before = self.waiting[at];
        if let Some(old) = before.gate {
            self.add(before.job, old, before.numbers, (before.since, now));
        }
        self.waiting[at] = Waiting { gate: Some(gate), numbers, since: now, ..before };
        self.marks[at] = before.kind;
    }

    /// Records the gates of the jobs outside the queue. O(their number).
    pub fn look_outside(&mut self, gates: impl Iterator<Item = (u32, Gate)>, now: f64) {
        let before = std::mem::take(&mut self.outside);
        for (job, gate) in gates {
            let since = before.get(&job).filter(|(old, _)| *old == gate).map_or(now, |&(_, since)| since);
            self.outside.insert(job, (gate, since));
        }
        for (job, (gate, since)) in before {
            if self.outside.get(&job).is_none_or(|(other, _)| *other != gate) {
                self.add(job, gate, Numbers::default(), (since, now));
            }
        }
    }

    /// Returns whether jobs outside the queue were found at the latest look.
    #[must_use]
    pub fn has_outside(&self) -> bool {
        !self.outside.is_empty()
    }

    /// Records a job that starts now.
    pub fn start(&mut self, running: Running) {
        let at = self.running.partition_point(|each| each.submission < running.submission);
        self.running.insert(at, running);
        self.holds(&running, running.held);
    }

    /// Records that a job runs no more.
    pub fn end(&mut self, submission: Submission) {
        if let Ok(at) = self.running.binary_search_by_key(&submission, |each| each.submission) {
            let running = self.running.remove(at);
            self.holds(&running, -running.held);
        }
    }

    /// Notes what a running job holds more, for the waiting jobs that were submitted after it.
    fn holds(&mut self, running: &Running, more: i64) {
        if let Some(totals) = &mut self.memo.totals {
            let first = self.waiting.partition_point(|each| each.submission < running.submission);
            totals.hold(first, more);
        }
    }
}
