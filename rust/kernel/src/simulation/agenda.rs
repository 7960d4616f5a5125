//! The agenda of an instant, as data: in which order events of one instant are taken, when a pass follows, and which
//! events a scheduler outside is asked about.
use serde::{Deserialize, Serialize};

/// A kind of event at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A timer is due.
    Timer,
    /// Users, administrators or faults do something.
    External,
    /// Victims of preemption have run on for their grace time.
    GraceEnd,
    /// A reservation of the machine begins that cancels running jobs in the way.
    Cut,
    /// An application ends, comes to a scheduling point or asks for other nodes.
    Application,
    /// A running job ends, by itself or at its limit.
    Completion,
    /// A control switches its rate at a time of its own, or looks at the load.
    Switch,
    /// A running job reaches its estimate, and may get another.
    Expiry,
    /// The clock alone has the scheduler asked.
    Periodic,
    /// Begin times of submitted jobs come, or delays after the starts of other jobs are over.
    Begin,
    /// A job is submitted.
    Submission,
    /// Jobs that end at this instant as estimated give back their nodes before their ends are taken.
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

/// In which order jobs end that end at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndTies {
    /// By row.
    ByRow,
    /// In the order of their starts; in rounds, where the passes between them start jobs that end at once.
    ByStart,
}

/// A kind of event about which a scheduler may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerKind {
    /// A job entered the queue.
    Submission,
    /// A job ended, by itself or killed at its limit.
    Completion,
    /// A running job can be resized.
    SchedulingPoint,
    /// A running job is about to be resized as was decided earlier; only where scheduling points are no trigger.
    Reconfiguration,
}

/// Which events a scheduler is asked about, one by one; evolving requests always are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerRules {
    /// The kinds of events.
    pub about: Vec<TriggerKind>,
    /// Seconds from one periodic question to the next; infinite where there is none.
    pub interval: f64,
    /// The instant from which the intervals count; the first submission unless given.
    pub since: Option<f64>,
    /// Seconds within which there is no second question.
    pub minimum_interval: f64,
}

/// An agenda by its name.
pub type NamedAgenda = (&'static str, fn() -> Agenda);

/// The agenda of every instant of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agenda {
    /// The kinds of events, in the order in which they are taken.
    pub order: Vec<EventKind>,
    /// When a pass follows.
    pub pass: PassRule,
    /// In which order jobs end that end at one instant.
    pub ties: EndTies,
    /// Whether the order has an [`EventKind::EarlyRelease`].
    pub releases_early: bool,
    /// Which events a scheduler outside is asked about; None: whatever makes a pass due.
    pub triggers: Option<TriggerRules>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::completions_first()
    }
}

impl Agenda {
    /// All orders at an instant, by their names.
    pub const NAMES: [NamedAgenda; 3] = [
        ("completions_first", Self::completions_first),
        ("arrivals_first", Self::arrivals_first),
        ("event_by_event", Self::event_by_event),
    ];

    /// Completions, submissions, one pass (S2).
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

    /// As completions first, with a pass after each event.
    #[must_use]
    pub fn event_by_event() -> Self {
        Self { pass: PassRule::AfterEachEvent, ..Self::completions_first() }
    }

    /// Whether a pass for which only the time is due follows the events of the instant, where none of them brought one.
    #[must_use]
    pub fn plans_come_last(&self) -> bool {
        self.pass == PassRule::AfterEachEvent && self.triggers.is_none() && !self.releases_early
    }

    /// The same, with a scheduler that is asked event by event.
    #[must_use]
    pub fn asking(self, triggers: TriggerRules) -> Self {
        Self { pass: PassRule::AfterEachEvent, triggers: Some(triggers), ..self }
    }
}
