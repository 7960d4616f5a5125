//! Exact order statistics of numbers that are too many to hold: found digit by digit, in passes over them.
use std::collections::HashMap;

use crate::time::{from_ordered_bits, ordered_bits};

/// Small digits keep the counts small: memory matters more here than passes.
const DIGIT_BITS: u32 = 8;
const DIGITS: u32 = 8;

/// The order statistics wanted of one column of non-negative numbers, while they are being found.
#[derive(Debug)]
pub struct Selection {
    /// For each: the digits found so far, and the rank that is left among the numbers that begin with them.
    wanted: Vec<(u64, u64)>,
    digit: u32,
    counts: HashMap<u64, Vec<u64>>,
}

impl Selection {
    /// Wants the numbers at these ranks, from 0, in sorted order.
    pub fn new(ranks: &[u64]) -> Self {
        let mut selection =
            Self { wanted: ranks.iter().map(|&rank| (0, rank)).collect(), digit: 0, counts: HashMap::new() };
        selection.prepare();
        selection
    }

    /// How many passes over all numbers it takes.
    pub const PASSES: u32 = DIGITS;

    /// Looks at a number in a pass.
    pub fn see(&mut self, number: f64) {
        let bits = ordered_bits(number) as u64;
        let prefix = self.prefix(bits);
        if let Some(counts) = self.counts.get_mut(&prefix) {
            let shift = 64 - DIGIT_BITS * (self.digit + 1);
            counts[(bits >> shift) as usize & ((1 << DIGIT_BITS) - 1)] += 1;
        }
    }

    /// Ends a pass: one more digit of every number wanted is known.
    pub fn end_pass(&mut self) {
        for (prefix, rank) in &mut self.wanted {
            let counts = &self.counts[prefix];
            let mut digit = 0;
            while digit + 1 < counts.len() && counts[digit] <= *rank {
                *rank -= counts[digit];
                digit += 1;
            }
            *prefix = *prefix << DIGIT_BITS | digit as u64;
        }
        self.digit += 1;
        self.prepare();
    }

    /// The numbers, after all passes.
    pub fn found(&self) -> Vec<f64> {
        self.wanted.iter().map(|&(bits, _)| from_ordered_bits(bits as i64)).collect()
    }

    fn prefix(&self, bits: u64) -> u64 {
        if self.digit == 0 { 0 } else { bits >> (64 - DIGIT_BITS * self.digit) }
    }

    fn prepare(&mut self) {
        self.counts.clear();
        if self.digit < DIGITS {
            for &(prefix, _) in &self.wanted {
                self.counts.entry(prefix).or_insert_with(|| vec![0; 1 << DIGIT_BITS]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_are_those_of_the_sorted_numbers(
            mut numbers in prop::collection::vec(0.0..1e9_f64, 1..200),
            ranks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        ) {
            let ranks: Vec<u64> = ranks.iter().map(|rank| rank.index(numbers.len()) as u64).collect();
            let mut selection = Selection::new(&ranks);
            for _ in 0..Selection::PASSES {
                for &number in &numbers {
                    selection.see(number);
                }
                selection.end_pass();
            }
            numbers.sort_unstable_by(f64::total_cmp);
            let expected: Vec<f64> = ranks.iter().map(|&rank| numbers[rank as usize]).collect();
            prop_assert_eq!(selection.found(), expected);
        }
    }
}
