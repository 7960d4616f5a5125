//! The functions of formulas.
use std::f64::consts::{PI, SQRT_2};

/// Greater than any count of values.
const ANY: u32 = u32::MAX;

macro_rules! functions {
    ($($name:literal $function:ident $least:literal $most:tt,)*) => {
        /// A function of numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum Function { $($function,)* }

        /// Names, and the least and the greatest number of values.
        pub const FUNCTIONS: &[(&str, Function, u32, u32)] = &[$(($name, Function::$function, $least, $most),)*];
    };
}

functions! {
    "abs" Abs 1 1, "acos" Acos 1 1, "acosh" Acosh 1 1, "asin" Asin 1 1, "asinh" Asinh 1 1, "atan" Atan 1 1,
    "atan2" Atan2 2 2, "atanh" Atanh 1 1, "avg" Avg 1 ANY, "ceil" Ceil 1 1, "clamp" Clamp 3 3, "cos" Cos 1 1,
    "cosh" Cosh 1 1, "cot" Cot 1 1, "csc" Csc 1 1, "deg2grad" DegToGrad 1 1, "deg2rad" DegToRad 1 1,
    "equal" Equal 2 2, "erf" Erf 1 1, "erfc" Erfc 1 1, "exp" Exp 1 1, "expm1" ExpMinusOne 1 1, "floor" Floor 1 1,
    "frac" Frac 1 1, "grad2deg" GradToDeg 1 1, "hypot" Hypot 2 2, "iclamp" InverseClamp 3 3, "inrange" InRange 3 3,
    "log" Log 1 1, "log10" Log10 1 1, "log1p" LogOnePlus 1 1, "log2" Log2 1 1, "logn" LogN 2 2, "mand" All 1 ANY,
    "max" Max 1 ANY, "min" Min 1 ANY, "mod" Mod 2 2, "mor" Some 1 ANY, "mul" Mul 1 ANY, "ncdf" NormalCdf 1 1,
    "not" Not 1 1, "not_equal" NotEqual 2 2, "pow" Pow 2 2, "rad2deg" RadToDeg 1 1, "root" Root 2 2,
    "round" Round 1 1, "roundn" RoundN 2 2, "sec" Sec 1 1, "sgn" Sgn 1 1, "shl" ShiftLeft 2 2,
    "shr" ShiftRight 2 2, "sin" Sin 1 1, "sinc" Sinc 1 1, "sinh" Sinh 1 1, "sqrt" Sqrt 1 1, "sum" Sum 1 ANY,
    "tan" Tan 1 1, "tanh" Tanh 1 1, "trunc" Trunc 1 1,
}

impl Function {
    /// The function's value; the parser has counted the values.
    pub fn apply(self, values: &[f64]) -> f64 {
        match *values {
            [x] if !self.takes_any() => self.of_one(x),
            [x, y] if !self.takes_any() => self.of_two(x, y),
            [x, y, z] if !self.takes_any() => self.of_three(x, y, z),
            _ => self.of_many(values),
        }
    }

    fn takes_any(self) -> bool {
        matches!(self, Self::Avg | Self::All | Self::Max | Self::Min | Self::Some | Self::Mul | Self::Sum)
    }

    fn of_one(self, x: f64) -> f64 {
        match self {
            Self::Abs => x.abs(),
            Self::Ceil => x.ceil(),
            Self::Exp => libm::exp(x),
            Self::ExpMinusOne => libm::expm1(x),
            Self::Floor => x.floor(),
            Self::Frac => x - x.trunc(),
            Self::Log => libm::log(x),
            Self::Log10 => libm::log10(x),
            Self::LogOnePlus => libm::log1p(x),
            Self::Log2 => libm::log2(x),
            Self::NormalCdf => 0.5 * libm::erfc(-x / SQRT_2),
            Self::Erf => libm::erf(x),
            Self::Erfc => libm::erfc(x),
            Self::Not => f64::from(x == 0.0),
            Self::Round => round(x),
            Self::Sgn => f64::from(x > 0.0) - f64::from(x < 0.0),
            Self::Sqrt => x.sqrt(),
            Self::Trunc => x.trunc(),
            _ => self.of_angle(x),
        }
    }

    fn of_angle(self, x: f64) -> f64 {
        match self {
            Self::Acos => libm::acos(x),
            Self::Acosh => libm::acosh(x),
            Self::Asin => libm::asin(x),
            Self::Asinh => libm::asinh(x),
            Self::Atan => libm::atan(x),
            Self::Atanh => libm::atanh(x),
            Self::Cos => libm::cos(x),
            Self::Cosh => libm::cosh(x),
            Self::Cot => 1.0 / libm::tan(x),
            Self::Csc => 1.0 / libm::sin(x),
            Self::Sec => 1.0 / libm::cos(x),
            Self::Sin => libm::sin(x),
            Self::Sinc if x.abs() < EPSILON => 1.0,
            Self::Sinc => libm::sin(x) / x,
            Self::Sinh => libm::sinh(x),
            Self::Tan => libm::tan(x),
            Self::Tanh => libm::tanh(x),
            Self::DegToGrad => x * (10.0 / 9.0),
            Self::DegToRad => x * (PI / 180.0),
            Self::GradToDeg => x * (9.0 / 10.0),
            Self::RadToDeg => x * (180.0 / PI),
            _ => f64::NAN,
        }
    }

    fn of_two(self, x: f64, y: f64) -> f64 {
        let near = || (x - y).abs() <= EPSILON * 1.0_f64.max(x.abs()).max(y.abs());
        match self {
            Self::Atan2 => libm::atan2(x, y),
            Self::Equal => f64::from(near()),
            Self::NotEqual => f64::from(!near()),
            Self::Hypot => libm::hypot(x, y),
            Self::LogN => libm::log(x) / libm::log(y),
            Self::Mod => x % y,
            Self::Pow => libm::pow(x, y),
            Self::Root => root(x, y),
            Self::RoundN => {
                let scale = libm::pow(10.0, y.trunc());
                round(x * scale) / scale
            }
            Self::ShiftLeft => x * libm::pow(2.0, y.trunc()),
            Self::ShiftRight => x / libm::pow(2.0, y.trunc()),
            _ => f64::NAN,
        }
    }

    fn of_three(self, low: f64, x: f64, high: f64) -> f64 {
        match self {
            Self::Clamp if x < low => low,
            Self::Clamp if x > high => high,
            Self::InRange => f64::from(low <= x && x <= high),
            Self::InverseClamp if low < x && x < high => {
                if 2.0 * x <= low + high {
                    low
                } else {
                    high
                }
            }
            _ => x,
        }
    }

    fn of_many(self, values: &[f64]) -> f64 {
        let fold =
            |operation: fn(f64, f64) -> f64| values.iter().copied().reduce(operation).unwrap_or(f64::NAN);
        match self {
            Self::Sum => fold(|sum, value| sum + value),
            Self::Avg => fold(|sum, value| sum + value) / values.len() as f64,
            Self::Mul => fold(|product, value| product * value),
            // Not f64::min and f64::max, which may give either zero of 0 and -0.
            Self::Min => fold(|least, value| if value < least { value } else { least }),
            Self::Max => fold(|most, value| if value > most { value } else { most }),
            Self::All => f64::from(values.iter().all(|value| *value != 0.0)),
            _ => f64::from(values.iter().any(|value| *value != 0.0)),
        }
    }
}

/// Within this, relatively, `equal` finds numbers equal.
const EPSILON: f64 = 1e-10;

/// Halves go away from zero.
fn round(x: f64) -> f64 {
    if x < 0.0 { (x - 0.5).ceil() } else { (x + 0.5).floor() }
}

/// The n-th root, n truncated; negative numbers have odd ones only in that `ExprTk` leaves them to `pow`.
fn root(x: f64, n: f64) -> f64 {
    let n = n.trunc();
    if n < 0.0 || x < 0.0 && n % 2.0 == 0.0 { f64::NAN } else { libm::pow(x, 1.0 / n) }
}
