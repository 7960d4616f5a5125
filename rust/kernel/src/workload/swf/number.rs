//! Parsing of the numbers in logs: exact, and fast for short numbers.

/// The powers of ten that float64 represents exactly and that the short form can need.
const POWERS_OF_TEN: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A mantissa of this many digits is below 2^53, so that its division by a power of ten rounds once, correctly.
const SHORT_DIGITS: usize = 15;

/// Returns whether a byte separates fields.
pub(super) const fn is_blank(byte: u8) -> bool {
    byte == b' ' || matches!(byte, b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Reads the field that begins at `start` (not a blank); returns it with the position after it.
///
/// NaN stands for text that is not a number. Infinities stand for numbers beyond float64, or are written as such.
pub(super) fn read(line: &[u8], start: usize) -> (f64, usize) {
    read_short(line, start).unwrap_or_else(|| {
        let end = end_of_field(line, start);
        (read_any(&line[start..end]), end)
    })
}

/// The text of a field, numbered from 0.
pub(super) fn field(line: &[u8], field: usize) -> Option<&[u8]> {
    line.split(|&byte| is_blank(byte)).filter(|text| !text.is_empty()).nth(field)
}

/// The position after the field that begins at `start`.
pub(super) fn end_of_field(line: &[u8], start: usize) -> usize {
    line[start..].iter().position(|&byte| is_blank(byte)).map_or(line.len(), |length| start + length)
}

/// Reads numbers like `-12.34` with up to 15 digits only.
fn read_short(line: &[u8], start: usize) -> Option<(f64, usize)> {
    let negative = line[start] == b'-';
    let first = start + usize::from(negative);
    let (mut mantissa, mut end) = read_digits(line, first, 0);
    let mut digits = end - first;
    let mut decimals = 0;
    if line.get(end) == Some(&b'.') {
        let point = end;
        (mantissa, end) = read_digits(line, point + 1, mantissa);
        decimals = end - point - 1;
        digits += decimals;
    }
    let whole_field = line.get(end).is_none_or(|&byte| is_blank(byte));
    if !whole_field || digits == 0 || digits > SHORT_DIGITS {
        return None;
    }
    let size = if decimals == 0 { mantissa as f64 } else { mantissa as f64 / POWERS_OF_TEN[decimals] };
    // Return 0 for -0, so that zero is unique.
    Some((if negative && mantissa != 0 { -size } else { size }, end))
}

/// Appends the digits from `start` on to a mantissa, which is wrong beyond 19 digits; returns it with the position
/// after them.
fn read_digits(line: &[u8], start: usize, mut mantissa: u64) -> (u64, usize) {
    let mut position = start;
    for &byte in &line[start..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        position += 1;
    }
    (mantissa, position)
}

fn read_any(field: &[u8]) -> f64 {
    let text = std::str::from_utf8(field).unwrap_or("");
    text.parse::<f64>().map_or(f64::NAN, |value| value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::read;
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

    fn number(text: &str) -> f64 {
        read(text.as_bytes(), 0).0
    }

    #[test]
    fn odd_spellings_have_a_value() {
        for (text, value) in [
            ("0", 0.0),
            ("-1", -1.0),
            ("552.21", 552.21),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("+7", 7.0),
            ("1e3", 1000.0),
            ("00000000000000000012", 12.0),
            ("12345678901234567890", 12_345_678_901_234_567_890.0),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(number(text).to_bits(), value.to_bits(), "{text}");
        }
        for text in ["-0", "-0.0", "-0e5"] {
            assert_eq!(number(text).to_bits(), 0, "{text}");
        }
        for text in ["-", ".", "1.2.3", "abc", "nan", "0x10", "1,5", "é"] {
            assert!(number(text).is_nan(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Both ways of reading return the float64 nearest to the decimal number.
        #[test]
        fn reads_as_the_standard_library_does(whole in any::<u32>(), decimals in "[0-9]{0,20}", minus in any::<bool>()) {
            let text = format!("{}{whole}.{decimals}", if minus { "-" } else { "" });
            let expected: f64 = text.parse().expect("digits around a point");
            prop_assert_eq!(number(&text).to_bits(), (expected + 0.0).to_bits());
        }

        /// A printed float64 is read back bit by bit.
        #[test]
        fn reads_what_was_printed(value in any::<f64>()) {
            if value.is_finite() {
                prop_assert_eq!(number(&value.to_string()).to_bits(), (value + 0.0).to_bits());
            }
        }
    }
}
