//! The operations of formulas on one, two and three numbers, with the signs and names used in the languages.
use std::f64::consts::{PI, SQRT_2};

use serde::{Deserialize, Serialize};

/// Operations with the named number of operands: their spellings in formulas, and their results.
macro_rules! operations {
    ($kind:ident ($($value:ident),+): $about:literal $($operation:ident $($written:literal)* => $result:expr;)+) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $kind { $($operation,)+ }

        impl $kind {
            /// The result; NaN for an operation on texts.
            // Equality is exact, like all comparisons of times; only `Near` is not.
            #[allow(clippy::float_cmp)]
            pub fn apply(self, $($value: f64),+) -> f64 {
                match self { $(Self::$operation => $result,)+ }
            }

            /// The operation with this spelling.
            pub fn written(word: &str) -> Option<Self> {
                match word { $($($written => Some(Self::$operation),)*)+ _ => None }
            }
        }
    };
}

operations! { Unary(x): "An operation on one number. `Number` gives the number; what is no number is an error."
    Number => x;
    Truth => f64::from(x != 0.0);
    Negate => -x;
    Not "not" => f64::from(x == 0.0);
    Abs "abs" => x.abs();
    Acos "acos" => libm::acos(x);
    Acosh "acosh" => libm::acosh(x);
    Asin "asin" => libm::asin(x);
    Asinh "asinh" => libm::asinh(x);
    Atan "atan" => libm::atan(x);
    Atanh "atanh" => libm::atanh(x);
    Ceil "ceil" => x.ceil();
    Cos "cos" => libm::cos(x);
    Cosh "cosh" => libm::cosh(x);
    Cot "cot" => 1.0 / libm::tan(x);
    Csc "csc" => 1.0 / libm::sin(x);
    DegToGrad "deg2grad" => x * (10.0 / 9.0);
    DegToRad "deg2rad" => x * (PI / 180.0);
    Erf "erf" => libm::erf(x);
    Erfc "erfc" => libm::erfc(x);
    Exp "exp" => libm::exp(x);
    ExpMinusOne "expm1" => libm::expm1(x);
    Floor "floor" => x.floor();
    Frac "frac" => x - x.trunc();
    GradToDeg "grad2deg" => x * (9.0 / 10.0);
    Log "log" => libm::log(x);
    Log10 "log10" => libm::log10(x);
    Log2 "log2" => libm::log2(x);
    LogOnePlus "log1p" => libm::log1p(x);
    NormalCdf "ncdf" => 0.5 * libm::erfc(-x / SQRT_2);
    RadToDeg "rad2deg" => x * (180.0 / PI);
    Round "round" => round(x);
    Sec "sec" => 1.0 / libm::cos(x);
    Sgn "sgn" => f64::from(x > 0.0) - f64::from(x < 0.0);
    Sin "sin" => libm::sin(x);
    Sinc "sinc" => if x.abs() < EPSILON { 1.0 } else { libm::sin(x) / x };
    Sinh "sinh" => libm::sinh(x);
    Sqrt "sqrt" => x.sqrt();
    Tan "tan" => libm::tan(x);
    Tanh "tanh" => libm::tanh(x);
    Trunc "trunc" => x.trunc();
}

operations! { Binary(x, y): "An operation on two numbers, or on two texts."
    Add "+" => x + y;
    Subtract "-" => x - y;
    Multiply "*" => x * y;
    Divide "/" => x / y;
    // With the sign of the dividend, like C's `fmod`; `Modulo` has the sign of the divisor, as in Python.
    Remainder "%" "mod" => x % y;
    Modulo => modulo(x, y);
    Power "**" "^" "pow" => libm::pow(x, y);
    Less "<" => f64::from(x < y);
    LessOrEqual "<=" => f64::from(x <= y);
    Greater ">" => f64::from(x > y);
    GreaterOrEqual ">=" => f64::from(x >= y);
    Equal "==" "=" => f64::from(x == y);
    NotEqual "!=" "<>" => f64::from(x != y);
    And "and" "&" => f64::from(x != 0.0 && y != 0.0);
    Nand "nand" => f64::from(x == 0.0 || y == 0.0);
    Or "or" "|" => f64::from(x != 0.0 || y != 0.0);
    Nor "nor" => f64::from(x == 0.0 && y == 0.0);
    Xor "xor" => f64::from((x != 0.0) != (y != 0.0));
    Xnor "xnor" => f64::from((x != 0.0) == (y != 0.0));
    In "in" => f64::NAN;
    Like "like" => f64::NAN;
    LikeInAnyCase "ilike" => f64::NAN;
    // Not f64::min and f64::max, which may return either zero of 0 and -0.
    Min => if y < x { y } else { x };
    Max => if y > x { y } else { x };
    Atan2 "atan2" => libm::atan2(x, y);
    Hypot "hypot" => libm::hypot(x, y);
    LogN "logn" => libm::log(x) / libm::log(y);
    Near "equal" => f64::from(is_near(x, y));
    NotNear "not_equal" => f64::from(!is_near(x, y));
    Root "root" => root(x, y);
    RoundN "roundn" => round_to(x, y);
    ShiftLeft "shl" => x * libm::pow(2.0, y.trunc());
    ShiftRight "shr" => x / libm::pow(2.0, y.trunc());
}

operations! { Ternary(low, x, high): "An operation on a number between two bounds."
    Clamp "clamp" => if x < low { low } else if x > high { high } else { x };
    InRange "inrange" => f64::from(low <= x && x <= high);
    // The nearer bound for a number between the bounds.
    InverseClamp "iclamp" => if !(low < x && x < high) { x } else if 2.0 * x <= low + high { low } else { high };
}

impl Binary {
    /// Returns whether the operation is true for two texts; `None` for operations on numbers.
    pub fn of_texts(self, left: &str, right: &str) -> Option<bool> {
        Some(match self {
            Self::In => right.contains(left),
            Self::Like => is_like(left, right),
            Self::LikeInAnyCase => is_like(&left.to_lowercase(), &right.to_lowercase()),
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            _ => return None,
        })
    }

    /// Returns whether the operation applies to texts only.
    pub fn needs_texts(self) -> bool {
        matches!(self, Self::In | Self::Like | Self::LikeInAnyCase)
    }
}

/// The relative tolerance of `equal`.
const EPSILON: f64 = 1e-10;

fn is_near(x: f64, y: f64) -> bool {
    (x - y).abs() <= EPSILON * 1.0_f64.max(x.abs()).max(y.abs())
}

fn modulo(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
}

/// Rounds half away from zero.
fn round(x: f64) -> f64 {
    if x < 0.0 { (x - 0.5).ceil() } else { (x + 0.5).floor() }
}

fn round_to(x: f64, digits: f64) -> f64 {
    let scale = libm::pow(10.0, digits.trunc());
    round(x * scale) / scale
}

/// The n-th root, with n truncated; odd roots of negative numbers are NaN, as in `ExprTk`, which uses `pow`.
fn root(x: f64, n: f64) -> f64 {
    let n = n.trunc();
    if n < 0.0 || x < 0.0 && n % 2.0 == 0.0 { f64::NAN } else { libm::pow(x, 1.0 / n) }
}

/// Returns whether a text matches a pattern, in which `*` stands for any characters and `?` for one.
///
/// Only the last `*` is retried, so that the time is at most the product of the lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut here, mut there) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(there) {
            Some('*') => {
                star = Some((there, here));
                there += 1;
            }
            Some(character) if *character == '?' || *character == text[here] => {
                here += 1;
                there += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (here, there) = (taken + 1, at + 1);
            }
        }
    }
    pattern[there..].iter().all(|character| *character == '*')
}
