//! The ranks of a run, in flat arrays: a step costs O(1).
use serde::{Deserialize, Serialize};

use super::program::{Group, Program, Step};
use crate::time::FineTime;

/// The event for which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocked {
    /// The end of all activities that it has started at a level.
    OnLevel(u32),
    /// Other ranks or a time; also for a rank that does not wait.
    Otherwise,
}

/// One rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rank {
    /// The next step.
    pub next: u32,
    pub blocked: Blocked,
    pub group: Group,
    /// Its index among the added ranks; `u32::MAX` if it was not added.
    pub added_index: u32,
    /// True if it has not reached an iteration since the start or reconfiguration.
    pub fresh: bool,
    /// The time at which its GPUs have finished.
    pub until: FineTime,
}

/// All ranks of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ranks {
    pub all: Vec<Rank>,
    depths: usize,
    levels: usize,
    /// Number of passes of each loop, rank by rank.
    counters: Vec<u64>,
    /// Number of activities in progress at each level, rank by rank.
    under_way: Vec<u32>,
    /// Begin of the task at each level, if logged.
    begun: Vec<FineTime>,
}

impl Ranks {
    /// Creates ranks at the beginning of a program.
    pub fn new(count: usize, program: &Program, logged: bool) -> Self {
        let (depths, levels) = (program.depths as usize, program.levels as usize);
        let rank = Rank {
            next: 0,
            blocked: Blocked::Otherwise,
            group: Group::Everyone,
            added_index: u32::MAX,
            fresh: true,
            until: FineTime::default(),
        };
        Self {
            all: vec![rank; count],
            depths,
            levels,
            counters: vec![0; count * depths],
            under_way: vec![0; count * levels],
            begun: vec![FineTime::default(); if logged { count * levels } else { 0 }],
        }
    }

    /// The index of a rank in its group.
    pub fn member(&self, rank: u32) -> usize {
        let state = &self.all[rank as usize];
        (if state.group == Group::Everyone { rank } else { state.added_index }) as usize
    }

    /// Number of iterations of its phase that a rank has done.
    pub fn iteration(&self, rank: u32) -> u64 {
        self.counters[rank as usize * self.depths]
    }

    /// Executes the control-flow steps: loops and groups.
    pub fn flow(&mut self, rank: u32, step: Step) {
        let counters = rank as usize * self.depths;
        let state = &mut self.all[rank as usize];
        match step {
            Step::Enter { group, others } => {
                if group == Group::Added && state.added_index == u32::MAX {
                    state.next = others;
                } else {
                    state.group = group;
                }
            }
            Step::Repeat { depth, times, after } => {
                self.counters[counters + depth as usize] = 0;
                if times == 0 {
                    state.next = after;
                }
            }
            Step::Again { depth, times, back } => {
                let counter = &mut self.counters[counters + depth as usize];
                *counter += 1;
                if *counter < times {
                    state.next = back;
                }
            }
            Step::Continue { iteration, at } => {
                self.counters[counters] = iteration;
                state.next = at;
            }
            _ => {}
        }
    }

    /// Counts an activity that a rank starts at a level.
    pub fn start(&mut self, rank: u32, level: u32) {
        self.under_way[rank as usize * self.levels + level as usize] += 1;
    }

    /// Counts the end of an activity of a rank; returns whether the rank continues.
    pub fn completed(&mut self, rank: u32, level: u32) -> bool {
        let count = &mut self.under_way[rank as usize * self.levels + level as usize];
        *count -= 1;
        let state = &mut self.all[rank as usize];
        let goes_on = *count == 0 && state.blocked == Blocked::OnLevel(level);
        if goes_on {
            state.blocked = Blocked::Otherwise;
        }
        goes_on
    }

    /// Makes a rank wait for the activities that it has started at a level, if any is in progress; returns whether it
    /// waits.
    pub fn await_level(&mut self, rank: u32, level: u32) -> bool {
        let waits = self.under_way[rank as usize * self.levels + level as usize] > 0;
        if waits {
            self.all[rank as usize].blocked = Blocked::OnLevel(level);
        }
        waits
    }

    /// Records the begin of a task of a rank at a level.
    pub fn begin_task(&mut self, rank: u32, level: u32, now: FineTime) {
        self.begun[rank as usize * self.levels + level as usize] = now;
    }

    /// The begin of the task of a rank at a level.
    pub fn begun(&self, rank: u32, level: u32) -> FineTime {
        self.begun[rank as usize * self.levels + level as usize]
    }
}
