//! The ranks of a run: flat arrays, a step costs O(1).
use serde::{Deserialize, Serialize};

use super::program::{Group, Program, Step};
use crate::time::FineTime;

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocked {
    /// Until nothing that it has started at a level is under way.
    OnLevel(u32),
    /// Others, or a time; or it goes on.
    Otherwise,
}

/// One rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rank {
    /// The next step.
    pub next: u32,
    pub blocked: Blocked,
    pub group: Group,
    /// Its place among the newcomers; `u32::MAX` if it is none.
    pub newcomer: u32,
    /// Whether it has come to no iteration yet since the (re)start.
    pub fresh: bool,
    /// When its GPUs are done.
    pub until: FineTime,
}

/// All ranks of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ranks {
    pub all: Vec<Rank>,
    depths: usize,
    levels: usize,
    /// How often each loop has been gone through, rank by rank.
    counters: Vec<u64>,
    /// How many activities are under way at each level, rank by rank.
    under_way: Vec<u32>,
    /// When the task at each level was begun, if that is logged.
    begun: Vec<FineTime>,
}

impl Ranks {
    /// Ranks that stand at the beginning of a program.
    pub fn new(count: usize, program: &Program, logged: bool) -> Self {
        let (depths, levels) = (program.depths as usize, program.levels as usize);
        let rank = Rank {
            next: 0,
            blocked: Blocked::Otherwise,
            group: Group::Everyone,
            newcomer: u32::MAX,
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

    /// A rank's place in its group.
    pub fn member(&self, rank: u32) -> usize {
        let state = &self.all[rank as usize];
        (if state.group == Group::Everyone { rank } else { state.newcomer }) as usize
    }

    /// Iterations of its phase that a rank has done.
    pub fn iteration(&self, rank: u32) -> u64 {
        self.counters[rank as usize * self.depths]
    }

    /// Loops and groups.
    pub fn flow(&mut self, rank: u32, step: Step) {
        let counters = rank as usize * self.depths;
        let state = &mut self.all[rank as usize];
        match step {
            Step::Enter { group, others } => {
                if group == Group::Newcomers && state.newcomer == u32::MAX {
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

    /// A rank starts something at a level.
    pub fn start(&mut self, rank: u32, level: u32) {
        self.under_way[rank as usize * self.levels + level as usize] += 1;
    }

    /// Something that a rank has started is over; whether the rank goes on.
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

    /// A rank comes to where it waits for what it has started at a level; whether it waits.
    pub fn await_level(&mut self, rank: u32, level: u32) -> bool {
        let waits = self.under_way[rank as usize * self.levels + level as usize] > 0;
        if waits {
            self.all[rank as usize].blocked = Blocked::OnLevel(level);
        }
        waits
    }

    /// A rank begins a task at a level.
    pub fn begin_task(&mut self, rank: u32, level: u32, now: FineTime) {
        self.begun[rank as usize * self.levels + level as usize] = now;
    }

    /// When it began it.
    pub fn begun(&self, rank: u32, level: u32) -> FineTime {
        self.begun[rank as usize * self.levels + level as usize]
    }
}
