//! State of the controller between two instants: its calls, and its records of jobs (S28).

/// What the controller remembers. Times in seconds; None: never.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerState {
    /// The main thread.
    pub main: MainState,
    /// The backfill thread, if there is one.
    pub backfill: Option<BackfillState>,
    /// The weights of the nodes after the latest evaluation of a job.
    pub weights: Vec<u32>,
    /// Records of waiting and running jobs.
    pub jobs: Vec<KnownJob>,
    /// Arrays, by number, and since when their first task has been eligible.
    pub arrays: Vec<(u32, f64)>,
}

/// The main thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MainState {
    /// One time at which it wakes.
    pub phase: f64,
    /// The second of its latest call.
    pub called: Option<f64>,
    /// The second of its latest call for the whole queue.
    pub called_for_all: Option<f64>,
    /// True if it is to call the loop at its next opportunity.
    pub wanted: bool,
    /// True if a call for the whole queue may find something else than the latest call.
    pub may_differ: bool,
    /// True if the latest call met an entry that did not fit.
    pub met_no_room: bool,
    /// The latest call of the loop, by the thread or direct.
    pub loop_called: Option<f64>,
    /// The call that is put off, if there is one: true if it looks at the whole queue.
    pub put_off: Option<bool>,
}

/// The backfill thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackfillState {
    /// The second in which its latest cycle ended.
    pub ended: Option<f64>,
    /// When it wakes next.
    pub wakes: f64,
    /// The second of the latest change that makes it work.
    pub changed: Option<f64>,
    /// True if a cycle may find something else than the latest one.
    pub may_differ: bool,
    /// From this second on it may although nothing has changed.
    pub holds_until: Option<f64>,
    /// True if a cycle is itself a change that makes the next one work.
    pub goes_on: bool,
    /// The duration of a cycle, seconds.
    pub length: f64,
    /// True if no cycle is made before the next event.
    pub rests: bool,
}

/// What the controller knows of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KnownJob {
    /// The slot of the job.
    pub job: u32,
    /// When it entered the queue.
    pub entered: Option<f64>,
    /// When it may start again after a preemption or a requeue.
    pub again: Option<f64>,
    /// When the first victims left their nodes for it.
    pub victims: Option<f64>,
    /// True if no call has had it in its queue since it entered.
    pub uncalled: bool,
    /// The first call that had it in its queue, and from when its age counts.
    pub called: Option<f64>,
    /// From when its age counts.
    pub ages_from: Option<f64>,
    /// How long it may run beyond its limit, seconds, if it runs.
    pub over_time_limit: Option<f64>,
}
