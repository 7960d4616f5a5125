//! What nodes draw in each mode, and how many nodes of a kind are in which.
use serde::{Deserialize, Serialize};

use crate::cluster::PowerState;

/// What a node of some kind draws, in watts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerModel {
    /// Open, with no job there.
    pub idle: f64,
    /// With a job there, whatever it uses; at least as much as idle.
    pub busy: f64,
    /// Drained, with no job there.
    pub drained: f64,
    /// More for each unit of each resource that jobs hold.
    pub per_unit: Vec<f64>,
    /// In each power state but on, by its number less 1, whatever jobs hold there.
    pub asleep: Vec<f64>,
}

impl PowerModel {
    /// Watts in a mode, besides what is drawn for each unit.
    pub(super) fn watts(&self, mode: Mode) -> f64 {
        match mode {
            Mode::Idle => self.idle,
            Mode::Busy => self.busy,
            Mode::Drained => self.drained,
            Mode::Asleep(place) => self.asleep[place],
        }
    }
}

/// What a node does, as far as it matters for what it draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    Idle,
    Busy,
    Drained,
    /// In a power state other than on, by its number less 1.
    Asleep(usize),
}

impl Mode {
    pub(super) fn of(state: PowerState, jobs: u32, drained: bool) -> Self {
        match (state.number().checked_sub(1), jobs, drained) {
            (Some(place), ..) => Self::Asleep(place),
            (None, 0, true) => Self::Drained,
            (None, 0, false) => Self::Idle,
            (None, ..) => Self::Busy,
        }
    }

    /// All modes, in the order of their places, where there are so many power states but on.
    pub(super) fn all(asleep: usize) -> impl Iterator<Item = Self> {
        [Self::Idle, Self::Busy, Self::Drained].into_iter().chain((0..asleep).map(Self::Asleep))
    }

    /// Whether the node is not on.
    pub(super) fn is_away(self) -> bool {
        matches!(self, Self::Asleep(_))
    }

    /// Its place among all modes of a kind of node.
    pub(super) fn place(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Busy => 1,
            Self::Drained => 2,
            Self::Asleep(place) => 3 + place,
        }
    }
}

/// What the nodes of one kind have spent in one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Joules.
    pub energy: f64,
    /// Seconds, of all nodes.
    pub seconds: f64,
}

impl Spent {
    pub(super) fn add(&mut self, joules: f64, seconds: f64) {
        self.energy += joules;
        self.seconds += seconds;
    }
}

/// How a node of some kind gets warm: as a resistor and a capacitor do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermalModel {
    /// Kelvin per watt between the node and what is around it.
    pub resistance: f64,
    /// Joules per kelvin.
    pub capacity: f64,
    /// What is around it, degrees Celsius.
    pub ambient: f64,
}

/// What the nodes of one kind do, counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) idle: i64,
    pub(super) busy: i64,
    pub(super) drained: i64,
    pub(super) used: Vec<i64>,
    pub(super) asleep: Vec<i64>,
}

impl Tally {
    /// Watts; rounding included, never less for more jobs on the same open nodes, so that the end of a job breaks no cap.
    pub(super) fn power(&self, draw: &PowerModel) -> f64 {
        let mut power = draw.idle * (self.idle + self.busy) as f64;
        power += (draw.busy - draw.idle) * self.busy as f64;
        power += draw.drained * self.drained as f64;
        for (per_unit, &used) in draw.per_unit.iter().zip(&self.used) {
            power += per_unit * used as f64;
        }
        for (watts, &asleep) in draw.asleep.iter().zip(&self.asleep) {
            power += watts * asleep as f64;
        }
        power
    }

    pub(super) fn count(&mut self, mode: Mode) -> &mut i64 {
        match mode {
            Mode::Idle => &mut self.idle,
            Mode::Busy => &mut self.busy,
            Mode::Drained => &mut self.drained,
            Mode::Asleep(place) => &mut self.asleep[place],
        }
    }
}
