//! Where the loop is: what it has done of the present instant, and what it waits for.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;
use crate::execution::Notice;
use crate::stopwatch::Timer as StopwatchTimer;
use crate::time::Time;

use super::agenda::Agenda;
use super::timers::Timers;
use super::triggers::{Trigger, TriggerClock};

/// After so many timers in a row with nothing else, a simulation is stuck: half a year of looking every minute.
pub const MAX_IDLE_WAKEUPS: u64 = 250_000;

/// What outside is asked, besides a scheduler, an order or an allocator outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listeners {
    /// Run times are estimated outside: at submissions, and when a running job reaches its estimate.
    pub estimates: bool,
    /// A scheduler outside is asked at every instant, not only while jobs wait.
    pub every_instant: bool,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LoopState {
    /// Goes on to the next instant.
    Idle,
    /// Takes what happens at this instant, until a pass is due.
    Events,
    /// Admits this job, whose estimate is known now.
    Admitting(u32),
    /// Has observers take note of what changed before a pass.
    Notifying,
    /// Asks for keys, where they come from outside.
    Prioritising,
    /// Sorts the queue, where its order changes with time.
    Passing,
    /// Takes the scheduler's proposals one by one.
    Proposing,
    /// Sees to the jobs that the pass started.
    AfterPass,
    /// Has observers take note of what the passes changed, and sees whether the instant is over.
    EndOfInstant,
    /// The run cannot go on; nothing more happens.
    Failed,
}

/// How far the loop is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cursor {
    pub at: LoopState,
    /// Something happened for which no pass has been made.
    pub pass_is_due: bool,
    /// Only the time is due, and a pass follows unless an event of this instant brings one (`Agenda::plans_come_last`).
    pub plan_due: Option<Time>,
    /// A decision from outside changed something since the last pass.
    pub is_disturbed: bool,
    /// When reservations of the machine began or ended, as long as no pass has been made since.
    pub calendar_turn: Option<Time>,
    /// When reservations began that cancel running jobs in the way, as long as these have not been cancelled.
    pub cut: Option<Time>,
    /// What happened last, where the scheduler is asked event by event.
    pub happened: Option<Trigger>,
    /// Why the scheduler is being asked.
    pub trigger: Trigger,
    pub clock: TriggerClock,
    /// Whether jobs that end as estimated have given back their nodes at this instant.
    pub released_early: bool,
    /// Jobs that end at this instant in the present round: those started before this start.
    pub round: Option<u64>,
    pub timers: Timers,
    /// Timers gone off and disturbances in a row without anything else, or at this instant.
    pub idle: u64,
    /// Why an application cannot go on: the job, and what is wrong.
    pub failure: Option<(u32, String)>,
    /// The jobs that a discipline has suspended at the present time, each as often as it has.
    pub suspended: Vec<u32>,
    /// Controls outside the kernel that are to be asked, and after what.
    pub questions: VecDeque<(u32, KeyEvent)>,
    /// The notice of an application that was not taken yet.
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
