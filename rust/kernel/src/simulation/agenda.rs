//! The agenda of an instant: the order of its events, when a pass follows, and which events trigger a call of an
//! external scheduler.
use serde::{Deserialize, Serialize};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A timer is due.
    Timer,
    /// An external event: an action of a user or administrator, or a fault.
    External,
    /// The grace time of a victim of preemption ends.
    GraceEnd,
    /// A reservation begins that cancels running jobs on its nodes.
    Cut,
    /// An application ends, reaches a scheduling point, or requests other nodes.
    Application,
    /// A running job ends, by itself or at its limit.
    Completion,
    /// A control switches its rate by itself, or looks at the load.
    Switch,
    /// A running job reaches its estimate, and may get another one.
    Expiry,
    /// The scheduler's period ends.
    Periodic,
    /// A begin time of a submitted job is reached, or its delay after the start of another job ends.
    Begin,
    /// A job is submitted.
    Submission,
    /// Jobs that end at this instant as estimated release their nodes before their ends are processed.
    EarlyRelease,
}

/// When a pass follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PassRule {
    /// Once, after all events of the instant.
    OncePerInstant,
    /// After each event.
    AfterEachEvent,
}

/// Order of jobs that end at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndTies {
    /// By row.
    ByRow,
    /// In the order of their starts; in rounds, if passes between them start jobs that end at once.
    ByStart,
}

/// Kind of an event that may trigger a call of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerKind {
    /// A job entered the queue.
    Submission,
    /// A job ended, by itself or killed at its limit.
    Completion,
    /// A running job can be resized.
    SchedulingPoint,
    /// A running job is about to be resized by an earlier decision. Used only if scheduling points are no trigger.
    Reconfiguration,
}

/// Events that trigger a call of the scheduler, one by one. Evolving requests always do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerRules {
    /// Kinds of events.
    pub about: Vec<TriggerKind>,
    /// Seconds between periodic calls; infinite if there are none.
    pub interval: f64,
    /// Origin of the intervals; the first submission by default.
    pub since: Option<f64>,
    /// Minimum seconds between two calls.
    pub minimum_interval: f64,
}

/// Name and constructor of an agenda.
pub type NamedAgenda = (&'static str, fn() -> Agenda);

/// The agenda of every instant of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agenda {
    /// Kinds of events in processing order.
    pub order: Vec<EventKind>,
    /// When a pass follows.
    pub pass: PassRule,
    /// Order of jobs that end at the same instant.
    pub ties: EndTies,
    /// True if the order contains [`EventKind::EarlyRelease`].
    pub releases_early: bool,
    /// Events that trigger a call of an external scheduler. None: every pass does.
    pub triggers: Option<TriggerRules>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::completions_first()
    }
}

impl Agenda {
    /// All agendas by name.
    pub const NAMES: [NamedAgenda; 3] = [
        ("completions_first", Self::completions_first),
        ("arrivals_first", Self::arrivals_first),
        ("event_by_event", Self::event_by_event),
    ];

    /// Completions, then submissions, then one pass (S2).
    #[must_use]
    pub fn completions_first() -> Self {
        use EventKind::{
            Application, Begin, Completion, Cut, Expiry, External, GraceEnd, Periodic, Submission, Switch,
            Timer,
        };
        Self {
            order: vec![
                Begin,
                External,
                Timer,
                GraceEnd,
                Cut,
                Application,
                Completion,
                Switch,
                Expiry,
                Periodic,
                Submission,
            ],
            pass: PassRule::OncePerInstant,
            ties: EndTies::ByRow,
            releases_early: false,
            triggers: None,
        }
    }

    /// Submissions by row, then completions in the order of their starts, with a pass after each.
    #[must_use]
    pub fn arrivals_first() -> Self {
        use EventKind::{
            Application, Begin, Completion, Cut, EarlyRelease, Expiry, External, GraceEnd, Periodic,
            Submission, Switch, Timer,
        };
        Self {
            order: vec![
                Begin,
                External,
                Timer,
                GraceEnd,
                Cut,
                Expiry,
                EarlyRelease,
                Submission,
                Application,
                Completion,
                Switch,
                Periodic,
            ],
            pass: PassRule::AfterEachEvent,
            ties: EndTies::ByStart,
            releases_early: true,
            triggers: None,
        }
    }

    /// The order of `completions_first`, with a pass after each event.
    #[must_use]
    pub fn event_by_event() -> Self {
        Self { pass: PassRule::AfterEachEvent, ..Self::completions_first() }
    }

    /// Return whether a pass for which only the time is due runs after the events of the instant, unless one of them
    /// triggers it.
    #[must_use]
    pub fn plans_come_last(&self) -> bool {
        self.pass == PassRule::AfterEachEvent && self.triggers.is_none() && !self.releases_early
    }

    /// Return this agenda for a scheduler that is called event by event.
    #[must_use]
    pub fn asking(self, triggers: TriggerRules) -> Self {
        Self { pass: PassRule::AfterEachEvent, triggers: Some(triggers), ..self }
    }
}
