//! Power states of the nodes (S21), and which nodes fall asleep or wake next.
//!
//! Idle available nodes are kept in ordered sets by their next transition: O(log n) for each change of a node, and for
//! each node that falls asleep or wakes.
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, PowerState, SleepRules};
use crate::index::SharedColumn;
use crate::scenario::Scenario;
use crate::time::Time;

use super::State;

/// State of a node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SleepingNode {
    state: PowerState,
    /// End of its transition; never if it is in none.
    until: Time,
    /// Time since which it has been available without a job.
    idle_since: f64,
    /// True if it is available and has no job.
    is_idle: bool,
    /// When it enters a deeper state if it stays idle; its key in the sets below.
    due: Time,
}

/// Nodes that the first waiting job could use; empty if nodes do not wake for it.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Number of its tasks.
    pub tasks: u64,
    /// Nodes with slots for it, in ascending order, and their numbers of slots.
    pub nodes: Vec<(u32, u32)>,
}

impl Demand {
    fn has(&self, node: u32) -> bool {
        self.nodes.binary_search_by_key(&node, |&(node, _)| node).is_ok()
    }
}

/// Power states of all nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SleepState {
    nodes: Vec<SleepingNode>,
    /// Current transitions, by their ends.
    ends: BTreeSet<(Time, u32)>,
    /// Idle nodes that are on, by when they fall asleep; the last node comes first among equal times.
    due: BTreeSet<(Time, Reverse<u32>)>,
    /// Idle nodes that are asleep, by when they enter a deeper state.
    deeper: BTreeSet<(Time, u32)>,
    /// Idle nodes that are asleep.
    asleep: BTreeSet<u32>,
    /// Nodes that are on.
    on: BTreeSet<u32>,
    /// Number of idle nodes that are on or waking.
    warm: u32,
    /// By slot: when the nodes of the latest run were on; NaN if they were on at its start.
    ready: SharedColumn<f64>,
    /// True if estimates and limits count from the start even so.
    counted: bool,
    /// Earliest time from which nodes count as idle.
    begin: f64,
    /// First waiting job of the latest pass, if nodes wake for it.
    pub head: Option<u32>,
}

impl SleepState {
    /// Create the state with all nodes on and idle since `begin`.
    #[must_use]
    pub fn new(rules: &SleepRules, begin: f64) -> Self {
        let count = rules.kind_of.len() as u32;
        let node = SleepingNode {
            state: PowerState::On,
            until: Time::NEVER,
            idle_since: begin,
            is_idle: true,
            due: Time::NEVER,
        };
        let mut made = Self {
            nodes: vec![node; count as usize],
            ends: BTreeSet::new(),
            due: BTreeSet::new(),
            deeper: BTreeSet::new(),
            asleep: BTreeSet::new(),
            on: (0..count).collect(),
            warm: 0,
            ready: SharedColumn::default(),
            counted: rules.counted,
            begin,
            head: None,
        };
        for node in 0..count {
            made.enlist(rules, node);
        }
        made
    }

    /// Share the per-job data with the next clone.
    pub fn share(&mut self) {
        self.ready.share();
    }

    /// Return the power state of a node.
    #[must_use]
    pub fn of(&self, node: u32) -> PowerState {
        self.nodes[node as usize].state
    }

    /// Return the first node from an index on that is on. O(log n).
    #[must_use]
    pub fn next_on(&self, from: u32) -> Option<u32> {
        self.on.range(from..).next().copied()
    }

    /// Return whether a node is on.
    #[must_use]
    pub fn is_on(&self, node: u32) -> bool {
        self.of(node) == PowerState::On
    }

    /// Return the nodes that are not on. O(n).
    pub fn not_on(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes.len() as u32).filter(|&node| !self.is_on(node))
    }

    /// Return whether all nodes are on.
    #[must_use]
    pub fn are_all_on(&self) -> bool {
        self.on.len() == self.nodes.len()
    }

    /// Return when the nodes of a job's latest run were on, if that was after its start.
    #[must_use]
    pub fn ready(&self, job: u32) -> Option<f64> {
        let is_known = (job as usize) < self.ready.len();
        is_known.then(|| *self.ready.get(job as usize)).filter(|ready| !ready.is_nan())
    }

    /// Return when all of these nodes are on if a job starts there now.
    #[must_use]
    pub fn ready_on(&self, rules: &SleepRules, placement: &[NodeTasks], now: f64) -> f64 {
        let ready = |part: &NodeTasks| {
            let node = &self.nodes[part.node as usize];
            let wake_time = |level: u8| rules.levels_of(part.node)[usize::from(level)].wake_time;
            match node.state {
                PowerState::On => now,
                PowerState::Waking(_) => node.until.0,
                // Waking starts when the transition to sleep ends.
                PowerState::Entering(level) => node.until.0 + wake_time(level),
                PowerState::Asleep(level) => now + wake_time(level),
            }
        };
        placement.iter().map(ready).fold(now, f64::max)
    }

    /// Record that a job has started on these nodes; sleeping nodes begin to wake.
    fn take(&mut self, rules: &SleepRules, machine: &Machine, job: u32, placement: &[NodeTasks], now: f64) {
        let ready = self.ready_on(rules, placement, now);
        if ready > now || self.ready(job).is_some() {
            self.ready.extend_to(job as usize + 1, &f64::NAN);
            *self.ready.get_mut(job as usize) = if ready > now { ready } else { f64::NAN };
        }
        for part in placement {
            self.touch(rules, machine, part.node, now);
            if let PowerState::Asleep(level) = self.of(part.node) {
                self.wake(rules, part.node, level, now);
            }
        }
    }

    /// Update a node after a job came or left, or after it was drained or resumed: if it is idle, its idle time begins
    /// now.
    pub fn touch(&mut self, rules: &SleepRules, machine: &Machine, node: u32, now: f64) {
        self.withdraw(node);
        let at = &mut self.nodes[node as usize];
        at.idle_since = now.max(self.begin);
        at.is_idle = machine.jobs_on(node) == 0 && !machine.is_drained(node);
        self.enlist(rules, node);
    }

    /// Return when the next transition ends, the next idle time is over, or the number of nodes to keep warm changes.
    #[must_use]
    pub fn next_time(&self, rules: &SleepRules, now: f64) -> Time {
        // Nodes that are already due stay on until another event.
        let later = (Bound::Excluded((Time(now), Reverse(0))), Bound::Unbounded);
        let due = self.due.range(later).next().map_or(Time::NEVER, |&(time, _)| time);
        let end = self.ends.first().map_or(Time::NEVER, |&(time, _)| time);
        let deeper = self.deeper.first().map_or(Time::NEVER, |&(time, _)| time);
        // While all nodes are on and none is due to sleep, another number of warm nodes has no effect.
        let are_kept = !self.are_all_on() || self.due.first().is_some_and(|&(time, _)| time <= Time(now));
        let keep = if are_kept { rules.keep.change_after(now) } else { Time::NEVER };
        due.min(end).min(deeper).min(keep)
    }

    /// End the next transition that is over by now, and return its node. A node with a job does not stay asleep.
    pub fn end_transition(&mut self, rules: &SleepRules, machine: &Machine, now: f64) -> Option<u32> {
        let &(_, node) = self.ends.first().filter(|&&(time, _)| time <= Time(now))?;
        match self.of(node) {
            PowerState::Entering(level) if machine.jobs_on(node) > 0 => self.wake(rules, node, level, now),
            PowerState::Entering(level) => self.put(rules, node, PowerState::Asleep(level), Time::NEVER),
            PowerState::Waking(_) | PowerState::On | PowerState::Asleep(_) => self.turn_on(rules, node, now),
        }
        Some(node)
    }

    /// Return whether the nodes that the first waiting job could use matter now.
    #[must_use]
    pub fn needs_demand(&self, now: f64) -> bool {
        !self.asleep.is_empty() || self.due.first().is_some_and(|&(time, _)| time <= Time(now))
    }

    /// Wake nodes, and let others fall asleep, at the end of an instant. Return the nodes that have changed.
    pub fn decide(&mut self, rules: &SleepRules, now: f64, demand: &Demand) -> Vec<u32> {
        let mut changed = Vec::new();
        self.wake_for(demand, rules, now, &mut changed);
        let keep = rules.keep.at(now);
        while f64::from(self.warm) < keep
            && let Some(&node) = self.asleep.first()
        {
            self.wake_now(rules, node, now, &mut changed);
        }
        let mut latest = Bound::Unbounded;
        while f64::from(self.warm) > keep
            && let Some(&next) = self.due.range((latest, Bound::Included((Time(now), Reverse(0))))).next()
        {
            latest = Bound::Excluded(next);
            if !demand.has(next.1.0) {
                self.enter_deepest(rules, next.1.0, now, &mut changed);
            }
        }
        while let Some(&(time, node)) = self.deeper.first()
            && time <= Time(now)
        {
            self.enter_deepest(rules, node, now, &mut changed);
        }
        changed
    }

    /// Wake nodes for a waiting job until the nodes that are on or waking have enough slots for it.
    fn wake_for(&mut self, demand: &Demand, rules: &SleepRules, now: f64, changed: &mut Vec<u32>) {
        let awake = demand.nodes.iter().filter(|&&(node, _)| self.of(node).is_awake());
        let mut slots: u64 = awake.map(|&(_, slots)| u64::from(slots)).sum();
        for &(node, more) in &demand.nodes {
            if slots >= demand.tasks {
                return;
            }
            if matches!(self.of(node), PowerState::Asleep(_)) {
                self.wake_now(rules, node, now, changed);
                slots += u64::from(more);
            }
        }
    }

    fn wake_now(&mut self, rules: &SleepRules, node: u32, now: f64, changed: &mut Vec<u32>) {
        if let PowerState::Asleep(level) = self.of(node) {
            self.wake(rules, node, level, now);
            changed.push(node);
        }
    }

    fn wake(&mut self, rules: &SleepRules, node: u32, level: u8, now: f64) {
        let seconds = rules.levels_of(node)[usize::from(level)].wake_time;
        if seconds > 0.0 {
            self.put(rules, node, PowerState::Waking(level), Time(now + seconds));
        } else {
            self.turn_on(rules, node, now);
        }
    }

    fn turn_on(&mut self, rules: &SleepRules, node: u32, now: f64) {
        self.withdraw(node);
        self.nodes[node as usize].idle_since = now.max(self.begin);
        self.enlist(rules, node);
        self.put(rules, node, PowerState::On, Time::NEVER);
    }

    fn enter_deepest(&mut self, rules: &SleepRules, node: u32, now: f64, changed: &mut Vec<u32>) {
        let Some(level) = rules.deepest(node, self.nodes[node as usize].idle_since, now) else { return };
        let seconds = rules.levels_of(node)[usize::from(level)].enter_time;
        if seconds > 0.0 {
            self.put(rules, node, PowerState::Entering(level), Time(now + seconds));
        } else {
            self.put(rules, node, PowerState::Asleep(level), Time::NEVER);
        }
        changed.push(node);
    }

    /// Put a node into a state, until a time.
    fn put(&mut self, rules: &SleepRules, node: u32, state: PowerState, until: Time) {
        self.withdraw(node);
        let at = &mut self.nodes[node as usize];
        if at.until != Time::NEVER {
            self.ends.remove(&(at.until, node));
        }
        (at.state, at.until) = (state, until);
        if until != Time::NEVER {
            self.ends.insert((until, node));
        }
        if state == PowerState::On {
            self.on.insert(node);
        } else {
            self.on.remove(&node);
        }
        self.enlist(rules, node);
    }

    /// Remove a node from the sets of idle nodes.
    fn withdraw(&mut self, node: u32) {
        let at = &self.nodes[node as usize];
        if !at.is_idle {
            return;
        }
        match at.state {
            PowerState::On => {
                self.warm -= 1;
                self.due.remove(&(at.due, Reverse(node)));
            }
            PowerState::Waking(_) => self.warm -= 1,
            PowerState::Asleep(_) => {
                self.asleep.remove(&node);
                self.deeper.remove(&(at.due, node));
            }
            PowerState::Entering(_) => {}
        }
    }

    /// Add a node to the sets of idle nodes if it is idle.
    fn enlist(&mut self, rules: &SleepRules, node: u32) {
        let at = &mut self.nodes[node as usize];
        if !at.is_idle {
            return;
        }
        at.due = rules.due(node, at.state, at.idle_since);
        let is_timed = at.due != Time::NEVER;
        match at.state {
            PowerState::On => {
                self.warm += 1;
                if is_timed {
                    self.due.insert((at.due, Reverse(node)));
                }
            }
            PowerState::Waking(_) => self.warm += 1,
            PowerState::Asleep(_) => {
                self.asleep.insert(node);
                if is_timed {
                    self.deeper.insert((at.due, node));
                }
            }
            PowerState::Entering(_) => {}
        }
    }
}

impl State {
    /// Record that a job has taken these nodes.
    pub(super) fn wake_nodes(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) {
        if let (Some(rules), Some(sleep)) = (&scenario.sleep, &mut self.sleep) {
            sleep.take(rules, &self.machine, job, placement, self.now);
        }
    }

    /// Record that a node was drained or resumed.
    pub(crate) fn touch_node(&mut self, scenario: &Scenario, node: u32) {
        if let (Some(rules), Some(sleep)) = (&scenario.sleep, &mut self.sleep) {
            sleep.touch(rules, &self.machine, node, self.now);
        }
    }

    /// Record that a job took its nodes without starting, or released them.
    pub(super) fn touch_placement(&mut self, scenario: &Scenario, job: u32) {
        if let (Some(rules), Some(sleep)) = (&scenario.sleep, &mut self.sleep) {
            for part in self.jobs.placement(job) {
                sleep.touch(rules, &self.machine, part.node, self.now);
            }
        }
    }

    /// Return when the nodes of a running job were or will be on: its start if none slept.
    #[must_use]
    pub fn ready_time(&self, job: u32) -> f64 {
        let ready = self.sleep.as_ref().and_then(|sleep| sleep.ready(job));
        ready.unwrap_or_else(|| self.jobs.start_time(job))
    }

    /// Return the time from which the estimate and the limit of a running job count.
    #[must_use]
    pub fn counts_from(&self, job: u32) -> f64 {
        if self.sleep.as_ref().is_some_and(|sleep| !sleep.counted) {
            self.ready_time(job)
        } else {
            self.jobs.start_time(job)
        }
    }
}
