//! Stateless random numbers: a mixing function, so that forks and threads are independent of each other.

/// SplitMix64's finaliser over `a + (b + 1) · 0x9E3779B97F4A7C15`, after Steele, Lea and Flood (OOPSLA 2014).
#[must_use]
pub fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_add(b.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn mix_is_splitmix64() {
        // The first outputs of SplitMix64 seeded with 0 and with 1234567.
        assert_eq!(mix(0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0, 1), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(mix(1_234_567, 0), 6_457_827_717_110_365_317);
    }
}
