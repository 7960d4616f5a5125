//! What stands between two operands, how strongly it binds, and what it gives.
use serde::{Deserialize, Serialize};

use super::Item;

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Nand,
    Or,
    Nor,
    Xor,
    Xnor,
    In,
    Like,
    LikeInAnyCase,
}

/// How strongly an operator holds what stands to its left and to its right, on `ExprTk`'s scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub left: u8,
    pub right: u8,
}

impl Binding {
    pub const PRODUCT: Self = Self { left: 10, right: 11 };
}

/// The operator that a sign or word is.
pub fn operator(written: &str) -> Option<(Operator, Binding)> {
    let (operator, left, right) = match written {
        "+" => (Operator::Add, 7, 8),
        "-" => (Operator::Subtract, 7, 8),
        "*" => (Operator::Multiply, 10, 11),
        "/" => (Operator::Divide, 10, 11),
        "%" => (Operator::Modulo, 10, 11),
        "^" => (Operator::Power, 12, 12),
        "<" => (Operator::Less, 5, 6),
        "<=" => (Operator::LessOrEqual, 5, 6),
        ">" => (Operator::Greater, 5, 6),
        ">=" => (Operator::GreaterOrEqual, 5, 6),
        "=" | "==" => (Operator::Equal, 5, 6),
        "!=" | "<>" => (Operator::NotEqual, 5, 6),
        "&" | "and" => (Operator::And, 3, 4),
        "nand" => (Operator::Nand, 3, 4),
        "|" | "or" => (Operator::Or, 1, 2),
        "nor" => (Operator::Nor, 1, 2),
        "xor" => (Operator::Xor, 1, 2),
        "xnor" => (Operator::Xnor, 1, 2),
        "in" => (Operator::In, 4, 4),
        "like" => (Operator::Like, 4, 4),
        "ilike" => (Operator::LikeInAnyCase, 4, 4),
        _ => return None,
    };
    Some((operator, Binding { left, right }))
}

impl Operator {
    pub fn apply(self, left: Item, right: Item) -> Result<f64, String> {
        match (left, right) {
            (Item::Number(left), Item::Number(right)) => self.of_numbers(left, right),
            (Item::Text(left), Item::Text(right)) => self.of_texts(left, right),
            (Item::Text(text), Item::Number(number)) | (Item::Number(number), Item::Text(text)) => {
                Err(format!("a text, '{text}', meets a number, {number}; both must be of one kind."))
            }
        }
    }

    // Equality is exact, as in `ExprTk`; its function equal() is not.
    #[allow(clippy::float_cmp)]
    pub fn of_numbers(self, left: f64, right: f64) -> Result<f64, String> {
        let both = (left != 0.0, right != 0.0);
        let holds = match self {
            Self::Add => return Ok(left + right),
            Self::Subtract => return Ok(left - right),
            Self::Multiply => return Ok(left * right),
            Self::Divide => return Ok(left / right),
            Self::Modulo => return Ok(left % right),
            Self::Power => return Ok(libm::pow(left, right)),
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::And => both.0 && both.1,
            Self::Nand => !(both.0 && both.1),
            Self::Or => both.0 || both.1,
            Self::Nor => !(both.0 || both.1),
            Self::Xor => both.0 != both.1,
            Self::Xnor => both.0 == both.1,
            Self::In | Self::Like | Self::LikeInAnyCase => {
                return Err(format!("numbers, {left} and {right}, where texts must be."));
            }
        };
        Ok(f64::from(holds))
    }

    fn of_texts(self, left: &str, right: &str) -> Result<f64, String> {
        let holds = match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::In => right.contains(left),
            Self::Like => is_like(left, right),
            Self::LikeInAnyCase => is_like(&left.to_lowercase(), &right.to_lowercase()),
            _ => return Err(format!("'{left}' and '{right}' are texts; texts can only be compared.")),
        };
        Ok(f64::from(holds))
    }
}

/// Whether a text is of a pattern, in which `*` stands for any characters and `?` for one.
///
/// Only the last `*` is ever tried again, so that the time is at most the product of the lengths.
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
