//! A step function of time: amounts that hold from one instant to the next.
use serde::{Deserialize, Serialize};

/// A step function: `width` values begin at `times[i]` and hold until the next time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Steps {
    pub(super) width: usize,
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<i64>,
}

impl Steps {
    pub(super) fn new(values: Vec<i64>) -> Self {
        Self { width: values.len(), times: vec![f64::NEG_INFINITY], values }
    }

    pub(super) fn at(&self, step: usize) -> &[i64] {
        &self.values[step * self.width..(step + 1) * self.width]
    }

    /// The step in force at `time`.
    pub(super) fn find(&self, time: f64) -> usize {
        self.times.partition_point(|&begin| begin <= time) - 1
    }

    /// Removes the steps that ended by `now`; returns their number.
    pub(super) fn trim(&mut self, now: f64) -> usize {
        let past = self.find(now);
        if past > 0 {
            self.times.drain(..past);
            self.values.drain(..past * self.width);
            self.times[0] = f64::NEG_INFINITY;
        }
        past
    }

    /// The step that begins at `time`, or the first step if `time` <= `now`: the past does not matter.
    pub(super) fn begin(&mut self, time: f64, now: f64) -> usize {
        if time <= now { 0 } else { self.split(time) }
    }

    /// The step that begins at `time`; created if missing.
    pub(super) fn split(&mut self, time: f64) -> usize {
        let step = self.find(time);
        if self.times[step].total_cmp(&time).is_eq() {
            return step;
        }
        self.times.insert(step + 1, time);
        let (from, end) = (step * self.width, self.values.len());
        self.values.extend_from_within(end - self.width..);
        self.values.copy_within(from..end - self.width, from + self.width);
        step + 1
    }

    /// Adds to the values of all steps of a range.
    pub(super) fn add(&mut self, steps: std::ops::Range<usize>, amounts: &[i64], sign: i64) {
        for values in
            self.values[steps.start * self.width..steps.end * self.width].chunks_exact_mut(self.width)
        {
            for (value, amount) in values.iter_mut().zip(amounts) {
                *value += sign * amount;
            }
        }
    }

    /// Returns whether any of the first `count` values is negative in a range of steps.
    pub(super) fn is_negative(&self, steps: std::ops::Range<usize>, count: usize) -> bool {
        steps.into_iter().any(|step| self.at(step)[..count].iter().any(|&value| value < 0))
    }

    /// Merges a step with the step before if they are equal.
    pub(super) fn join(&mut self, step: usize) {
        if step > 0 && step < self.times.len() && self.at(step) == self.at(step - 1) {
            self.remove(step);
        }
    }

    pub(super) fn remove(&mut self, step: usize) {
        self.times.remove(step);
        self.values.drain(step * self.width..(step + 1) * self.width);
    }
}
