//! The virtual machine: flat postfix programs, and their evaluation on a stack.
use serde::{Deserialize, Serialize};

use super::error::ExpressionError;
use super::operations::{Binary, Ternary, Unary};
use crate::spelling::shown;

/// Stacks up to this size are not allocated on the heap; nearly all formulas need less.
const SMALL: usize = 32;

/// A formula, ready to be evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    steps: Vec<Step>,
    /// The position of each step in the formula, in characters.
    positions: Vec<u32>,
    texts: Vec<String>,
    /// Maximum number of values on the stack.
    highest: usize,
}

/// One step of a program: it pops its operands from the stack, the last one on top, and pushes its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    Number(f64),
    Text(u32),
    Name(u32),
    /// An operator between any two values; `Two` accepts numbers only.
    Operator(Binary),
    One(Unary),
    Two(Binary),
    Three(Ternary),
    /// condition, value, otherwise
    Choose,
    /// value, condition, otherwise
    IfElse,
}

/// A value on the stack: a number, or a text for comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
}

impl Program {
    /// Creates the program of a formula that is a number.
    #[must_use]
    pub fn of_number(number: f64) -> Self {
        let mut program = Self::default();
        program.push(Step::Number(number), 0, 1);
        program
    }

    /// The number, if the formula is a plain number.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self.steps[..] {
            [Step::Number(number)] => Some(number),
            _ => None,
        }
    }

    /// Returns whether the formula depends on the name with this index.
    #[must_use]
    pub fn uses(&self, name: usize) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Name(index) if *index as usize == name))
    }

    /// The value if all names are numbers, given by index; NaN if texts are compared.
    pub fn number(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.run(|name| Ok(value(name))).unwrap_or(f64::NAN)
    }

    /// The value, given the meaning of the names by index.
    pub fn value<'a>(
        &'a self,
        meaning: impl Fn(usize) -> Result<Item<'a>, String>,
    ) -> Result<f64, ExpressionError> {
        let at = |position, message| ExpressionError { position, message };
        let item = self.run(meaning).map_err(|(step, message)| at(self.positions[step] as usize, message))?;
        item.number().map_err(|message| at(0, message))
    }

    /// Appends a step; `height` is the number of values on the stack after it.
    pub(super) fn push(&mut self, step: Step, position: usize, height: usize) {
        self.steps.push(step);
        self.positions.push(position as u32);
        self.highest = self.highest.max(height);
    }

    /// Adds a text; returns its index.
    pub(super) fn push_text(&mut self, text: String) -> u32 {
        self.texts.push(text);
        self.texts.len() as u32 - 1
    }

    /// Returns the last value on the stack, or the failed step and its error message.
    fn run<'a, V: Operand<'a>>(
        &'a self,
        meaning: impl Fn(usize) -> Result<V, String>,
    ) -> Result<V, (usize, String)> {
        let mut large;
        let mut small = [V::from(0.0); SMALL];
        let below = if self.highest <= SMALL {
            &mut small[..]
        } else {
            large = vec![V::from(0.0); self.highest];
            &mut large[..]
        };
        let mut stack = Stack { below, height: 0, top: V::from(0.0) };
        for (index, step) in self.steps.iter().enumerate() {
            self.step(*step, &mut stack, &meaning).map_err(|problem| (index, problem))?;
        }
        Ok(stack.top)
    }

    #[inline]
    fn step<'a, V: Operand<'a>>(
        &'a self,
        step: Step,
        stack: &mut Stack<'_, V>,
        meaning: impl Fn(usize) -> Result<V, String>,
    ) -> Result<(), String> {
        match step {
            Step::Number(number) => stack.push(V::from(number)),
            Step::Text(index) => stack.push(V::text(&self.texts[index as usize])),
            Step::Name(index) => stack.push(meaning(index as usize)?),
            Step::One(operation) => stack.top = operation.apply(stack.top.number()?).into(),
            Step::Two(operation) | Step::Operator(operation) => {
                let (left, right) = (stack.pop(), stack.top);
                let compared = match step {
                    Step::Operator(_) => V::compare(operation, left, right)?,
                    _ => None,
                };
                stack.top = match compared {
                    Some(holds) => V::from(f64::from(holds)),
                    None => operation.apply(left.number()?, right.number()?).into(),
                };
            }
            Step::Three(operation) => {
                let (second, first) = (stack.pop(), stack.pop());
                stack.top = operation.apply(first.number()?, second.number()?, stack.top.number()?).into();
            }
            Step::Choose => {
                let (value, condition) = (stack.pop(), stack.pop());
                stack.top = if condition.number()? == 0.0 { stack.top } else { value };
            }
            Step::IfElse => {
                let (condition, value) = (stack.pop(), stack.pop());
                stack.top = if condition.number()? == 0.0 { stack.top } else { value };
            }
        }
        Ok(())
    }
}

/// The stack, with the top value stored separately, so that most steps find it in a register.
struct Stack<'s, V> {
    below: &'s mut [V],
    height: usize,
    top: V,
}

impl<V: Copy> Stack<'_, V> {
    fn push(&mut self, value: V) {
        self.below[self.height] = self.top;
        self.height += 1;
        self.top = value;
    }

    /// Removes and returns the value below the top.
    fn pop(&mut self) -> V {
        self.height -= 1;
        self.below[self.height]
    }
}

impl Step {
    /// Number of values that the step pops from the stack.
    pub(super) fn operands(self) -> usize {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Name(_) => 0,
            Self::One(_) => 1,
            Self::Operator(_) | Self::Two(_) => 2,
            Self::Three(_) | Self::Choose | Self::IfElse => 3,
        }
    }
}

/// The values of the machine: numbers only, which is fast and cannot fail, or numbers and texts.
trait Operand<'a>: Copy + From<f64> {
    fn text(text: &'a str) -> Self;
    fn number(self) -> Result<f64, String>;
    /// The result of an operation on texts; `None` if both values are numbers and the operation is one on numbers.
    fn compare(operation: Binary, left: Self, right: Self) -> Result<Option<bool>, String>;
}

impl<'a> Operand<'a> for f64 {
    fn text(_: &'a str) -> Self {
        Self::NAN
    }

    fn number(self) -> Result<f64, String> {
        Ok(self)
    }

    fn compare(_: Binary, _: Self, _: Self) -> Result<Option<bool>, String> {
        Ok(None)
    }
}

impl<'a> Operand<'a> for Item<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text(text)
    }

    fn number(self) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Text(text) => Err(format!("{} is a text; texts can only be compared.", shown(text))),
        }
    }

    fn compare(operation: Binary, left: Self, right: Self) -> Result<Option<bool>, String> {
        match (left, right) {
            (Self::Number(left), Self::Number(right)) if operation.needs_texts() => {
                Err(format!("numbers, {left} and {right}, where texts must be."))
            }
            (Self::Number(_), Self::Number(_)) => Ok(None),
            (Self::Text(left), Self::Text(right)) => match operation.of_texts(left, right) {
                Some(holds) => Ok(Some(holds)),
                None => Err(format!("'{left}' and '{right}' are texts; texts can only be compared.")),
            },
            (Self::Text(text), Self::Number(number)) | (Self::Number(number), Self::Text(text)) => {
                Err(format!("a text, '{text}', meets a number, {number}; both must be of one kind."))
            }
        }
    }
}

impl From<f64> for Item<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}
