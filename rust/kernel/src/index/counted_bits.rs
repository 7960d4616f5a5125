//! A bitmap with counts: the j-th set bit, and the number of set bits before a position.
//!
//! O(1) to change a bit; O(n / 4096) to count the bits before a position, and 64 words more to find a bit by number.
use serde::{Deserialize, Serialize};

use super::words::{WORD, ones_of};

/// Number of words with a common count.
const WORDS: usize = 64;

/// A bitmap; all bits are initially clear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedBits {
    words: Vec<u64>,
    /// Number of set bits in each block of `WORDS` words.
    ones: Vec<u32>,
}

impl CountedBits {
    /// Creates a bitmap of this length.
    #[must_use]
    pub fn new(bits: usize) -> Self {
        let words = bits.div_ceil(WORD);
        Self { words: vec![0; words], ones: vec![0; words.div_ceil(WORDS)] }
    }

    /// Sets or clears a bit.
    pub fn set(&mut self, at: usize, is_set: bool) {
        let (word, bit) = (&mut self.words[at / WORD], 1 << (at % WORD));
        let ones = &mut self.ones[at / WORD / WORDS];
        match (*word & bit != 0, is_set) {
            (false, true) => *ones += 1,
            (true, false) => *ones -= 1,
            _ => {}
        }
        *word = if is_set { *word | bit } else { *word & !bit };
    }

    /// Number of set bits.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ones.iter().map(|&ones| ones as usize).sum()
    }

    /// Number of set bits before a position.
    #[must_use]
    pub fn count_before(&self, at: usize) -> usize {
        let (word, block) = (at / WORD, at / WORD / WORDS);
        let blocks: usize = self.ones.iter().take(block).map(|&ones| ones as usize).sum();
        let words = self.words.iter().take(word).skip(block * WORDS).map(|word| word.count_ones() as usize);
        let below = self.words.get(word).map_or(0, |word| word & ((1 << (at % WORD)) - 1));
        blocks + words.sum::<usize>() + below.count_ones() as usize
    }

    /// The positions of the set bits, from set bit number `number` on.
    pub fn from_number(&self, number: usize) -> impl Iterator<Item = usize> {
        let (mut left, mut block) = (number, 0);
        while let Some(&ones) = self.ones.get(block)
            && ones as usize <= left
        {
            left -= ones as usize;
            block += 1;
        }
        let mut first = block * WORDS;
        while let Some(word) = self.words.get(first)
            && word.count_ones() as usize <= left
        {
            left -= word.count_ones() as usize;
            first += 1;
        }
        let words = self.words.iter().enumerate().skip(first);
        words.flat_map(|(at, &word)| ones_of(word).map(move |bit| at * WORD + bit)).skip(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bits_are_counted_as_by_a_scan(
            changes in prop::collection::vec((0..9_000_usize, any::<bool>()), 0..300),
            at in 0..9_001_usize,
            number in 0..200_usize,
        ) {
            let (mut bits, mut flags) = (CountedBits::new(9_000), vec![false; 9_000]);
            for (place, is_set) in changes {
                bits.set(place, is_set);
                flags[place] = is_set;
            }
            let set: Vec<usize> = (0..flags.len()).filter(|&place| flags[place]).collect();
            prop_assert_eq!(bits.count(), set.len());
            prop_assert_eq!(bits.count_before(at), set.iter().filter(|&&place| place < at).count());
            prop_assert_eq!(bits.from_number(number).collect::<Vec<_>>(), &set[number.min(set.len())..]);
        }
    }
}
