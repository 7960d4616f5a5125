//! Decay of past usage, in closed form.
use serde::{Deserialize, Serialize};

/// The decay of usage with time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Decay {
    /// No decay.
    Never,
    /// Usage halves continuously with this half-life, seconds.
    HalfLife(f64),
    /// Usage is multiplied by `factor` every `period` seconds after `origin`, as in PBS.
    Steps {
        /// Fraction that remains after each period, from 0 to 1.
        factor: f64,
        /// Length of a period, seconds, > 0.
        period: f64,
        /// Begin of the first period, seconds.
        origin: f64,
    },
}

impl Decay {
    /// The usage at `until`, if it was `value` at `since` and grew by `rate` per second in between. O(1).
    #[must_use]
    pub fn carry(self, value: f64, rate: f64, since: f64, until: f64) -> f64 {
        let span = until - since;
        match self {
            Self::Never => value + rate * span,
            Self::HalfLife(half_life) => {
                let exponent = -span / half_life * std::f64::consts::LN_2;
                let left = libm::exp2(-span / half_life);
                // expm1 keeps its precision if the span is short relative to the half-life.
                let gained = -libm::expm1(exponent) * half_life / std::f64::consts::LN_2;
                value * left + rate * gained
            }
            Self::Steps { factor, period, origin } => {
                stepped(value, rate, (since - origin, until - origin), factor, period)
            }
        }
    }
}

fn stepped(value: f64, rate: f64, (since, until): (f64, f64), factor: f64, period: f64) -> f64 {
    let (before, last) = ((since / period).floor(), (until / period).floor());
    if last <= before {
        return value + rate * (until - since);
    }
    let first = (value + rate * ((before + 1.0) * period - since)) * factor;
    let whole = last - before - 1.0;
    let left = libm::pow(factor, whole);
    let between = if factor < 1.0 { factor * (1.0 - left) / (1.0 - factor) } else { whole };
    first * left + rate * period * between + rate * (until - last * period)
}
