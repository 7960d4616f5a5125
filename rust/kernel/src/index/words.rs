//! Sets as bitmaps, in words of 64 bits.

/// Bits per word.
pub const WORD: usize = u64::BITS as usize;

/// The positions of the set bits of a word, lowest first.
#[inline]
pub fn ones_of(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < WORD).then_some(bit)
    })
}
