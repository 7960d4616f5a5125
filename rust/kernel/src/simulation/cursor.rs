//! The position of the event loop: its progress in the current instant, and what it waits for.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;
use crate::execution::Notice;
use crate::stopwatch::Timer as StopwatchTimer;
use crate::time::Time;

use super::agenda::Agenda;
use super::timers::Timers;
use super::triggers::{Trigger, TriggerClock};

/// Number of consecutive timers without any other event after which a simulation is stuck: half a year with one timer
/// per minute.
pub const MAX_IDLE_WAKEUPS: u64 = 250_000;

/// External parties to call, in addition to a scheduler, order or allocator outside the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listeners {
    /// Run times are estimated outside: at submissions, and when a running job reaches its estimate.
    pub estimates: bool,
    /// An external scheduler is called at every instant, not only while jobs wait.
    pub every_instant: bool,
}

/// The next step of the event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LoopState {
    /// Advance to the next instant.
    Idle,
    /// Process the events of this instant until a pass is due.
    Events,
    /// Admit this job; its estimate is set now.
    Admitting(u32),
    /// Notify observers of changes before a pass.
    Notifying,
    /// Ask for keys if the order is external.
    Prioritising,
    /// Sort the queue if its order changes with time.
    Passing,
    /// Process the scheduler's proposals one by one.
    Proposing,
    /// Begin the runs of the jobs that the pass started.
    AfterPass,
    /// Notify observers of changes by the passes, and determine whether the instant is over.
    EndOfInstant,
    /// The run cannot continue.
    Failed,
}

/// The position of the event loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cursor {
    pub at: LoopState,
    /// True if an event requires a pass.
    pub pass_is_due: bool,
    /// Set if only the time is due: a pass runs at the end of the instant unless an event triggers one
    /// (`Agenda::plans_come_last`).
    pub plan_due: Option<Time>,
    /// True if an external decision has changed something since the last pass.
    pub is_disturbed: bool,
    /// When reservations began or ended, until the next pass.
    pub calendar_turn: Option<Time>,
    /// When reservations began that cancel running jobs on their nodes, until these are cancelled.
    pub cut: Option<Time>,
    /// The last event, if the scheduler is called event by event.
    pub happened: Option<Trigger>,
    /// The reason of the current call of the scheduler.
    pub trigger: Trigger,
    pub clock: TriggerClock,
    /// True if jobs that end as estimated have released their nodes at this instant.
    pub released_early: bool,
    /// The current round of ends at this instant: jobs started before this start number.
    pub round: Option<u64>,
    pub timers: Timers,
    /// Number of consecutive timers and disturbances without any other event, or at this instant.
    pub idle: u64,
    /// Why an application cannot continue: job and reason.
    pub failure: Option<(u32, String)>,
    /// Jobs that a discipline has suspended at the current time, once per suspension.
    pub suspended: Vec<u32>,
    /// External controls to call, each with its event.
    pub questions: VecDeque<(u32, KeyEvent)>,
    /// A notice of an application that was not processed yet.
    pub notice: Option<(u32, Notice)>,
    #[serde(skip)]
    pub stopwatch: Option<StopwatchTimer>,
}

impl Cursor {
    pub fn new(agenda: &Agenda, first_submission: f64) -> Self {
        Self {
            at: LoopState::Idle,
            pass_is_due: false,
            plan_due: None,
            is_disturbed: false,
            calendar_turn: None,
            cut: None,
            happened: None,
            trigger: Trigger::default(),
            clock: TriggerClock::new(agenda.triggers.as_ref(), first_submission),
            released_early: false,
            round: None,
            timers: Timers::default(),
            idle: 0,
            failure: None,
            suspended: Vec::new(),
            questions: VecDeque::new(),
            notice: None,
            stopwatch: None,
        }
    }
}
