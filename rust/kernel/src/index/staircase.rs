//! A staircase (Pareto front): those pairs (place, height) for which no other pair has a lower place and a greater
//! height.
//!
//! Finding the lowest place for a height costs O(log n), adding a pair O(n) for n steps; n is small.
use serde::{Deserialize, Serialize};

/// Places and heights, both ascending.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Staircase {
    steps: Vec<(f64, f64)>,
}

impl Staircase {
    /// Adds a pair.
    pub fn add(&mut self, place: f64, height: f64) {
        let is_beaten = |&(other, its): &(f64, f64)| other <= place && its >= height;
        // Most pairs are dominated by the highest one.
        if self.steps.last().is_some_and(is_beaten) {
            return;
        }
        let at = self.steps.partition_point(|&(other, _)| other < place);
        if (at > 0 && is_beaten(&self.steps[at - 1])) || self.steps.get(at).is_some_and(is_beaten) {
            return;
        }
        let beaten = self.steps[at..].iter().take_while(|&&(_, its)| its <= height).count();
        if beaten == 0 {
            self.steps.insert(at, (place, height));
        } else {
            self.steps[at] = (place, height);
            self.steps.drain(at + 1..at + beaten);
        }
    }

    /// The lowest place of a pair with at least this height; infinity if no pair is that high.
    #[must_use]
    pub fn lowest(&self, height: f64) -> f64 {
        let at = self.steps.partition_point(|&(_, its)| its < height);
        self.steps.get(at).map_or(f64::INFINITY, |&(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_place_is_that_of_all_pairs(pairs in prop::collection::vec((0..20_i32, 0..20_i32), 0..30)) {
            let mut staircase = Staircase::default();
            for &(place, height) in &pairs {
                staircase.add(f64::from(place), f64::from(height));
            }
            for least in 0..21 {
                let places = pairs.iter().filter(|&&(_, height)| height >= least).map(|&(place, _)| f64::from(place));
                let lowest = places.fold(f64::INFINITY, f64::min);
                prop_assert!(staircase.lowest(f64::from(least)).total_cmp(&lowest).is_eq());
            }
        }
    }
}
