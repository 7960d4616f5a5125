//! Exact order statistics of numbers too many for memory: determined digit by digit, in passes over them.
use crate::time::{from_ordered_bits, ordered_bits};

/// Eleven bits result in few passes, and in counts that fit in the cache.
const DIGIT_BITS: u32 = 11;
const DIGITS: u32 = 64_u32.div_ceil(DIGIT_BITS);

/// The requested order statistics of one column of non-negative numbers, while they are determined.
#[derive(Debug)]
pub struct Selection {
    /// For each: the digits determined so far, and the remaining rank among the numbers that begin with them.
    wanted: Vec<(u64, u64)>,
    digit: u32,
    /// The counts of each next digit, by the digits before it: at most one entry per requested number.
    counts: Vec<(u64, Vec<u64>)>,
}

impl Selection {
    /// Requests the numbers at these ranks, from 0, in sorted order.
    pub fn new(ranks: &[u64]) -> Self {
        let wanted = ranks.iter().map(|&rank| (0, rank)).collect();
        let mut selection = Self { wanted, digit: 0, counts: Vec::new() };
        selection.prepare();
        selection
    }

    /// Number of passes over all numbers.
    pub const PASSES: u32 = DIGITS;

    /// Processes a number in a pass. O(distinct requested numbers).
    pub fn see(&mut self, number: f64) {
        let bits = ordered_bits(number) as u64;
        let prefix = self.prefix(bits);
        if let Some((_, counts)) = self.counts.iter_mut().find(|(known, _)| *known == prefix) {
            counts[(bits >> rest_after(self.digit)) as usize & ((1 << width(self.digit)) - 1)] += 1;
        }
    }

    /// Ends a pass: one more digit of every requested number is known.
    pub fn end_pass(&mut self) {
        for (prefix, rank) in &mut self.wanted {
            let Some((_, counts)) = self.counts.iter().find(|(known, _)| known == prefix) else { continue };
            let mut digit = 0;
            while digit + 1 < counts.len() && counts[digit] <= *rank {
                *rank -= counts[digit];
                digit += 1;
            }
            *prefix = *prefix << width(self.digit) | digit as u64;
        }
        self.digit += 1;
        self.prepare();
    }

    /// The numbers, after all passes.
    pub fn found(&self) -> Vec<f64> {
        self.wanted.iter().map(|&(bits, _)| from_ordered_bits(bits as i64)).collect()
    }

    fn prefix(&self, bits: u64) -> u64 {
        if self.digit == 0 { 0 } else { bits >> rest_after(self.digit - 1) }
    }

    fn prepare(&mut self) {
        self.counts.clear();
        if self.digit < DIGITS {
            let mut prefixes: Vec<u64> = self.wanted.iter().map(|&(prefix, _)| prefix).collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            self.counts =
                prefixes.into_iter().map(|prefix| (prefix, vec![0; 1 << width(self.digit)])).collect();
        }
    }
}

/// Number of bits after a digit.
fn rest_after(digit: u32) -> u32 {
    64_u32.saturating_sub(DIGIT_BITS * (digit + 1))
}

/// Number of bits of a digit; the last one may be shorter.
fn width(digit: u32) -> u32 {
    DIGIT_BITS.min(64 - DIGIT_BITS * digit)
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
