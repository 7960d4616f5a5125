//! The job table: struct of arrays, one slot per job.
//!
//! A replay of a whole workload has one slot per row. A streamed run gives a slot back when its job is done, so the
//! table is as long as the most jobs alive at once.
use crate::time::Time;

/// What has become of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Known, not yet submitted.
    Loaded = 0,
    /// Waiting.
    Queued = 1,
    /// Holding its nodes.
    Running = 2,
    /// Ran its run_time.
    Completed = 3,
    /// Ended before its run_time was over: by the wall time rule, a scheduler or a failure.
    Killed = 4,
    /// Could never have fitted.
    Rejected = 5,
}

impl State {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Killed => "killed",
            Self::Rejected => "rejected",
        }
    }
}

/// One job as it enters the table. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The place in the workload; the last tie-breaker.
    pub row: u64,
    /// When it is submitted.
    pub submit_time: f64,
    /// Its true duration, the kernel's secret.
    pub run_time: f64,
    /// The user's limit or estimate.
    pub requested_time: f64,
    /// What schedulers take its run_time to be: the requested time, or what a predictor says.
    pub estimate: f64,
    /// Number of tasks, at least 1.
    pub tasks: u32,
    /// What each task asks: an index into the interned requests.
    pub request: u32,
}

/// Tasks of a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// The node.
    pub node: u32,
    /// How many of the job's tasks are there.
    pub tasks: u32,
}

/// All jobs known to a simulation.
#[derive(Clone, Debug, Default)]
pub struct JobTable {
    jobs: Vec<Job>,
    state: Vec<State>,
    start_time: Vec<f64>,
    /// When the job ended; while it runs, when it will end, which nobody but the event loop asks.
    end_time: Vec<f64>,
    /// Seconds of its run_time that an interrupted job need not run again; empty as long as there is none.
    saved: Vec<f64>,
    /// When a running job was resized last; NaN where it was not, and empty as long as nobody was.
    resized: Vec<f64>,
    placement: Placements,
    /// Further columns by name, for formulas: one value per slot.
    columns: Vec<Vec<f64>>,
    vacant: Vec<u32>,
}

impl JobTable {
    /// A table of these jobs; `columns` are further values, one per job each.
    #[must_use]
    pub fn new(jobs: Vec<Job>, columns: Vec<Vec<f64>>) -> Self {
        let count = jobs.len();
        Self {
            jobs,
            state: vec![State::Loaded; count],
            start_time: vec![f64::NAN; count],
            end_time: vec![f64::NAN; count],
            saved: Vec::new(),
            resized: Vec::new(),
            placement: Placements { shares: Vec::new(), span: vec![(0, 0); count], live: 0 },
            columns,
            vacant: Vec::new(),
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Adds a job with its further columns, in a vacant slot if there is one.
    pub fn add(&mut self, job: Job, columns: &[f64]) -> u32 {
        if self.columns.len() < columns.len() {
            self.columns.resize(columns.len(), Vec::new());
        }
        let Some(slot) = self.vacant.pop() else {
            self.jobs.push(job);
            self.state.push(State::Loaded);
            self.start_time.push(f64::NAN);
            self.end_time.push(f64::NAN);
            self.placement.span.push((0, 0));
            for (column, value) in self.columns.iter_mut().zip(columns) {
                column.push(*value);
            }
            return (self.jobs.len() - 1) as u32;
        };
        let at = slot as usize;
        self.jobs[at] = job;
        self.state[at] = State::Loaded;
        self.start_time[at] = f64::NAN;
        self.end_time[at] = f64::NAN;
        for (column, value) in self.columns.iter_mut().zip(columns) {
            column[at] = *value;
        }
        slot
    }

    /// Gives a slot back; what stood there is forgotten.
    pub fn forget(&mut self, slot: u32) {
        self.placement.forget(slot);
        self.vacant.push(slot);
    }

    /// The job in a slot.
    #[must_use]
    pub fn job(&self, slot: u32) -> &Job {
        &self.jobs[slot as usize]
    }

    /// A further column's value.
    #[must_use]
    pub fn column(&self, column: usize, slot: u32) -> f64 {
        self.columns[column][slot as usize]
    }

    /// What has become of the job.
    #[must_use]
    pub fn state(&self, slot: u32) -> State {
        self.state[slot as usize]
    }

    /// Sets the state.
    pub fn set_state(&mut self, slot: u32, state: State) {
        self.state[slot as usize] = state;
    }

    /// When the job started; NaN where it has not.
    #[must_use]
    pub fn start_time(&self, slot: u32) -> f64 {
        self.start_time[slot as usize]
    }

    /// When the job ended; NaN where it has not.
    #[must_use]
    pub fn end_time(&self, slot: u32) -> f64 {
        if self.state(slot) == State::Running { f64::NAN } else { self.end_time[slot as usize] }
    }

    /// Since when a job has had the nodes that it has: its start, or when it was resized last.
    #[must_use]
    pub fn since(&self, slot: u32) -> f64 {
        let resized = self.resized.get(slot as usize).copied().unwrap_or(f64::NAN);
        if resized.is_nan() { self.start_time(slot) } else { resized }
    }

    /// Whether this is when a running job will end: false for an event of a run that was interrupted.
    #[must_use]
    pub fn ends_at(&self, slot: u32, time: f64) -> bool {
        self.state(slot) == State::Running && Time(self.end_time[slot as usize]) == Time(time)
    }

    /// When a running job will end.
    pub fn will_end(&mut self, slot: u32, time: f64) {
        self.end_time[slot as usize] = time;
    }

    /// What is left of the job's run_time.
    #[must_use]
    pub fn remaining(&self, slot: u32) -> f64 {
        let saved = self.saved.get(slot as usize).copied().unwrap_or(0.0);
        (self.job(slot).run_time - saved).max(0.0)
    }

    /// Sets what schedulers take the job's run_time to be.
    pub fn set_estimate(&mut self, slot: u32, estimate: f64) {
        self.jobs[slot as usize].estimate = estimate;
    }

    /// Nobody knows better than the estimates: every job that is not done runs for as long as it is thought to.
    pub fn believe_estimates(&mut self) {
        self.saved.clear();
        for (job, state) in self.jobs.iter_mut().zip(&self.state) {
            if !matches!(state, State::Completed | State::Killed) {
                job.run_time = job.estimate;
            }
        }
    }

    /// The nodes of the job, by index; empty where it has not started.
    #[must_use]
    pub fn placement(&self, slot: u32) -> &[Share] {
        self.placement.of(slot)
    }

    /// Records a start.
    pub fn start(&mut self, slot: u32, now: f64, shares: &[Share]) {
        self.state[slot as usize] = State::Running;
        self.start_time[slot as usize] = now;
        self.placement.keep(slot, shares);
    }

    /// Records that a running job has other nodes from now on.
    pub fn reshape(&mut self, slot: u32, now: f64, shares: &[Share]) {
        self.resized.resize(self.jobs.len(), f64::NAN);
        self.resized[slot as usize] = now;
        self.placement.forget(slot);
        self.placement.keep(slot, shares);
    }

    /// Records that a running job gave up its nodes and waits again; `saved` seconds of its run_time need not be run
    /// again.
    pub fn interrupt(&mut self, slot: u32, saved: f64) {
        if saved > 0.0 {
            self.saved.resize(self.jobs.len(), 0.0);
            self.saved[slot as usize] += saved;
        }
        self.state[slot as usize] = State::Queued;
        self.start_time[slot as usize] = f64::NAN;
        self.end_time[slot as usize] = f64::NAN;
        if let Some(resized) = self.resized.get_mut(slot as usize) {
            *resized = f64::NAN;
        }
        self.placement.forget(slot);
    }

    /// Records an end.
    pub fn end(&mut self, slot: u32, now: f64, state: State) {
        self.state[slot as usize] = state;
        self.end_time[slot as usize] = now;
    }
}

/// The placements of all jobs, one after the other in one arena.
#[derive(Clone, Debug, Default)]
struct Placements {
    shares: Vec<Share>,
    span: Vec<(usize, u32)>,
    live: usize,
}

impl Placements {
    /// Below this length the arena is not worth compacting.
    const SMALL: usize = 4096;

    fn of(&self, slot: u32) -> &[Share] {
        let (start, length) = self.span[slot as usize];
        &self.shares[start..start + length as usize]
    }

    fn keep(&mut self, slot: u32, shares: &[Share]) {
        if self.shares.len() > Self::SMALL && self.shares.len() > 2 * self.live {
            self.compact();
        }
        self.span[slot as usize] = (self.shares.len(), shares.len() as u32);
        self.shares.extend_from_slice(shares);
        self.live += shares.len();
        let kept = &mut self.shares[self.span[slot as usize].0..];
        if !kept.is_sorted() {
            kept.sort_unstable();
        }
    }

    fn forget(&mut self, slot: u32) {
        self.live -= self.span[slot as usize].1 as usize;
        self.span[slot as usize] = (0, 0);
    }

    /// Closes the gaps that forgotten jobs left: amortised O(1) per share kept.
    fn compact(&mut self) {
        let mut order: Vec<u32> =
            (0..self.span.len() as u32).filter(|&s| self.span[s as usize].1 > 0).collect();
        order.sort_unstable_by_key(|&slot| self.span[slot as usize].0);
        let mut end = 0;
        for slot in order {
            let (start, length) = self.span[slot as usize];
            self.shares.copy_within(start..start + length as usize, end);
            self.span[slot as usize].0 = end;
            end += length as usize;
        }
        self.shares.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(row: u64) -> Job {
        Job { row, submit_time: 0.0, run_time: 1.0, requested_time: 1.0, estimate: 1.0, tasks: 1, request: 0 }
    }

    #[test]
    fn slots_and_arena_are_used_again() {
        let mut table = JobTable::default();
        let keeper = table.add(job(0), &[0.5]);
        table.start(keeper, 0.0, &[Share { node: 7, tasks: 1 }, Share { node: 3, tasks: 2 }]);
        for row in 1..100_000 {
            let slot = table.add(job(row), &[1.5]);
            table.start(slot, 0.0, &[Share { node: 1, tasks: 1 }; 3]);
            table.forget(slot);
        }
        assert_eq!(table.len(), 2);
        assert!(table.placement.shares.len() <= 2 * Placements::SMALL);
        assert_eq!(table.placement(keeper), [Share { node: 3, tasks: 2 }, Share { node: 7, tasks: 1 }]);
        assert!((table.column(0, keeper) - 0.5).abs() < f64::EPSILON);
    }
}
