//! The power states of nodes, and the rules for sleeping and waking (S21): the part of the input.
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Seconds per day.
const DAY: f64 = 86_400.0;

/// The power state of a node. Sleep states are numbered within their group of nodes, the lightest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PowerState {
    /// Ready to run jobs.
    #[default]
    On,
    /// In transition to a sleep state.
    Entering(u8),
    /// In a sleep state.
    Asleep(u8),
    /// In transition from a sleep state to on.
    Waking(u8),
}

impl PowerState {
    /// Number of power states for each sleep state.
    pub const PER_LEVEL: usize = 3;

    /// The number of the state among all states of a group; on is 0.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::On => 0,
            Self::Entering(level) => usize::from(level) * Self::PER_LEVEL + 1,
            Self::Asleep(level) => usize::from(level) * Self::PER_LEVEL + 2,
            Self::Waking(level) => usize::from(level) * Self::PER_LEVEL + 3,
        }
    }

    /// Returns whether the node is on, or is waking.
    #[must_use]
    pub fn is_awake(self) -> bool {
        matches!(self, Self::On | Self::Waking(_))
    }
}

/// A sleep state of a group of nodes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepLevel {
    /// From the decision to sleep until the node is in the state.
    pub enter_time: f64,
    /// From being woken until the node is on.
    pub wake_time: f64,
    /// Idle time after which the node enters the state; infinity if it never does so by itself.
    pub after: f64,
}

/// Number of nodes to keep warm, as a step function of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarmNodes {
    /// Times in ascending order, and the number from each time on.
    pub steps: Vec<(f64, f64)>,
    /// Present if the steps repeat every day: by how many seconds the local clock is ahead of simulation time, from
    /// each time on. The first value also holds before its time. Summer time adds entries.
    pub clock: Option<Vec<(f64, f64)>>,
}

impl WarmNodes {
    /// The number at a time, i.e. at the latest step. Before the first step of a day, the number of the last step
    /// applies.
    #[must_use]
    pub fn at(&self, now: f64) -> f64 {
        let moment = self.clock.as_ref().map_or(now, |clock| (now + ahead(clock, now)).rem_euclid(DAY));
        let before = self.steps.last().filter(|_| self.clock.is_some());
        let latest = self.steps.iter().rev().find(|&&(time, _)| time <= moment);
        latest.or(before).map_or(0.0, |&(_, count)| count)
    }

    /// The time of the next change of the number.
    #[must_use]
    pub fn change_after(&self, now: f64) -> Time {
        let later = |base: f64| {
            let mut times = self.steps.iter().map(move |&(time, _)| Time(base + time));
            times.find(|&time| time > Time(now)).unwrap_or(Time::NEVER)
        };
        let Some(clock) = &self.clock else { return later(0.0) };
        let ahead = ahead(clock, now);
        let day = ((now + ahead) / DAY).floor() * DAY;
        let next = later(day - ahead).min(later(day + DAY - ahead));
        let put_forward = clock.iter().map(|&(time, _)| Time(time)).find(|&time| time > Time(now));
        put_forward.map_or(next, |time| next.min(time))
    }
}

/// By how many seconds the local clock is ahead at a time.
fn ahead(clock: &[(f64, f64)], now: f64) -> f64 {
    let after = clock.partition_point(|&(time, _)| time <= now);
    clock.get(after.saturating_sub(1)).map_or(0.0, |&(_, seconds)| seconds)
}

/// The sleep states of all nodes, and the rules of sleeping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepRules {
    /// The sleep states of each kind of node, the lightest first.
    pub levels: Vec<Vec<SleepLevel>>,
    /// The kind of each node.
    pub kind_of: Vec<u32>,
    /// Number of idle nodes to keep on or waking.
    pub keep: WarmNodes,
    /// True if nodes wake for the first waiting job before they are allocated to it.
    pub wakes_for_queue: bool,
    /// True if the time in which nodes wake counts towards the time limit of their job.
    pub counted: bool,
    /// True if a job is placed on nodes that are on, if it fits on them.
    pub prefers_on: bool,
}

impl SleepRules {
    /// The sleep states of a node.
    #[must_use]
    pub fn levels_of(&self, node: u32) -> &[SleepLevel] {
        &self.levels[self.kind_of[node as usize] as usize]
    }

    /// The power state of a node right after it is woken from a sleep state.
    #[must_use]
    pub fn woken(&self, node: u32, level: u8) -> PowerState {
        let takes_time = self.levels_of(node)[usize::from(level)].wake_time > 0.0;
        if takes_time { PowerState::Waking(level) } else { PowerState::On }
    }

    /// The time at which a node in this state since it became idle is to enter a deeper state.
    #[must_use]
    pub fn due(&self, node: u32, state: PowerState, idle_since: f64) -> Time {
        let below = match state {
            PowerState::On => 0,
            PowerState::Asleep(level) => usize::from(level) + 1,
            PowerState::Entering(_) | PowerState::Waking(_) => return Time::NEVER,
        };
        let deeper = self.levels_of(node).iter().skip(below);
        deeper.map(|level| Time(idle_since + level.after)).min().unwrap_or(Time::NEVER)
    }

    /// The deepest sleep state for which the node has been idle long enough.
    #[must_use]
    pub fn deepest(&self, node: u32, idle_since: f64, now: f64) -> Option<u8> {
        let is_over = |level: &SleepLevel| idle_since + level.after <= now;
        self.levels_of(node).iter().rposition(is_over).map(|level| level as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_nodes_by_the_day_go_on_over_midnight() {
        let steps = vec![(28_800.0, 8.0), (64_800.0, 1.0)];
        let daily = WarmNodes { steps: steps.clone(), clock: Some(vec![(0.0, 0.0)]) };
        for (now, count, next) in
            [(0.0, 1.0, 28_800.0), (28_800.0, 8.0, 64_800.0), (70_000.0, 1.0, 115_200.0)]
        {
            assert_eq!((daily.at(now), daily.change_after(now)), (count, Time(next)));
        }
        let once = WarmNodes { steps, clock: None };
        assert_eq!((once.at(0.0), once.change_after(64_800.0)), (0.0, Time::NEVER));
        let at_noon = WarmNodes { clock: Some(vec![(0.0, 43_200.0)]), ..once.clone() };
        assert_eq!((at_noon.at(0.0), at_noon.change_after(0.0)), (8.0, Time(21_600.0)));
        let put_back = WarmNodes { clock: Some(vec![(-1.0, 0.0), (64_800.0, -3600.0)]), ..once };
        for (now, count, next) in
            [(64_799.0, 8.0, 64_800.0), (64_800.0, 8.0, 68_400.0), (68_400.0, 1.0, 118_800.0)]
        {
            assert_eq!((put_back.at(now), put_back.change_after(now)), (count, Time(next)));
        }
    }

    #[test]
    fn a_node_enters_the_deepest_state_whose_time_is_over() {
        let level = |after| SleepLevel { enter_time: 1.0, wake_time: 2.0, after };
        let rules = SleepRules {
            levels: vec![vec![level(60.0), level(f64::INFINITY), level(600.0)]],
            kind_of: vec![0],
            keep: WarmNodes::default(),
            wakes_for_queue: false,
            counted: false,
            prefers_on: false,
        };
        assert_eq!(rules.due(0, PowerState::On, 5.0), Time(65.0));
        assert_eq!(rules.due(0, PowerState::Asleep(0), 5.0), Time(605.0));
        assert_eq!(rules.due(0, PowerState::Asleep(2), 5.0), Time::NEVER);
        assert_eq!(rules.deepest(0, 5.0, 64.0), None);
        assert_eq!(rules.deepest(0, 5.0, 65.0), Some(0));
        assert_eq!(rules.deepest(0, 5.0, 700.0), Some(2));
    }
}
