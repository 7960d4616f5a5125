//! The power of nodes in each mode, and the number of nodes of a kind in each mode.
use serde::{Deserialize, Serialize};

use crate::cluster::PowerState;

/// The power of a kind of node, watts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerModel {
    /// Available, without a job.
    pub idle: f64,
    /// With a job, whatever it uses; at least as much as idle.
    pub busy: f64,
    /// Drained, without a job.
    pub drained: f64,
    /// Additional power per unit of each resource that jobs hold.
    pub per_unit: Vec<f64>,
    /// In each power state other than on, by its number minus 1, whatever jobs hold there.
    pub asleep: Vec<f64>,
}

impl PowerModel {
    /// Power in each mode without units of resources, in the order of the modes' numbers: idle, busy, drained, and each
    /// power state other than on. Watts.
    #[must_use]
    pub fn watts_by_mode(&self) -> Vec<f64> {
        Mode::all(self.asleep.len()).map(|mode| self.watts(mode)).collect()
    }

    /// Power in a mode without units of resources, watts.
    pub(super) fn watts(&self, mode: Mode) -> f64 {
        match mode {
            Mode::Idle => self.idle,
            Mode::Busy => self.busy,
            Mode::Drained => self.drained,
            Mode::Asleep(place) => self.asleep[place],
        }
    }
}

/// The mode of a node, which determines its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    Idle,
    Busy,
    Drained,
    /// In a power state other than on, by its number minus 1.
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

    /// All modes in the order of their indices, with this number of power states other than on.
    pub(super) fn all(asleep: usize) -> impl Iterator<Item = Self> {
        [Self::Idle, Self::Busy, Self::Drained].into_iter().chain((0..asleep).map(Self::Asleep))
    }

    /// Returns whether the node is not on.
    pub(super) fn is_away(self) -> bool {
        matches!(self, Self::Asleep(_))
    }

    /// The index of the mode among all modes of a kind of node.
    pub(super) fn place(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Busy => 1,
            Self::Drained => 2,
            Self::Asleep(place) => 3 + place,
        }
    }
}

/// Energy and time of the nodes of one kind in one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Joules.
    pub energy: f64,
    /// Seconds, summed over the nodes.
    pub seconds: f64,
}

impl Spent {
    pub(super) fn add(&mut self, joules: f64, seconds: f64) {
        self.energy += joules;
        self.seconds += seconds;
    }
}

/// The thermal model of a kind of node: a resistor and a capacitor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermalModel {
    /// Thermal resistance between the node and its surroundings, kelvin per watt.
    pub resistance: f64,
    /// Thermal capacity, joules per kelvin.
    pub capacity: f64,
    /// Ambient temperature, degrees Celsius.
    pub ambient: f64,
}

/// Counts of the nodes of one kind by mode.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) idle: i64,
    pub(super) busy: i64,
    pub(super) drained: i64,
    pub(super) used: Vec<i64>,
    pub(super) asleep: Vec<i64>,
}

impl Tally {
    /// Power in watts. Even with rounding, more jobs on the same available nodes never reduce it, so the end of a job
    /// never exceeds a power cap.
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
