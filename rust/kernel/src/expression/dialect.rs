//! The definition of a formula language as data: lexer, parser and machine are the same for all languages.
use super::operations::{Binary, Ternary, Unary};
use super::vm::Step;

/// A language of formulas.
// Lists of signs and words are separated by spaces.
#[derive(Debug)]
pub struct Dialect {
    /// The optional features of the language.
    pub(super) features: &'static [Feature],
    /// Operators with their binding strengths to the left, from 1, and to the right; the two are equal for
    /// right-associative operators.
    pub(super) operators: &'static [(u8, u8, &'static str)],
    /// The left binding strength of operators that must not be chained, as in `1 < 2 < 3`.
    pub(super) unchained: Option<u8>,
    /// Prefix signs and words: their operation, if any, and their binding strength. A preceding operator must not bind
    /// more strongly.
    pub(super) prefixes: &'static [(&'static str, Option<Unary>, u8)],
    /// Pairs of brackets; functions use the first.
    pub(super) brackets: &'static [(&'static str, &'static str)],
    /// Signs of other languages, and what to write instead.
    pub(super) foreign: &'static [(&'static str, &'static str)],
    pub(super) functions: &'static str,
    /// Least number of values for functions with any number of values.
    pub(super) least_values: usize,
    /// Words that are numbers.
    pub(super) constants: &'static [(&'static str, f64)],
    /// Keywords of statements, which formulas do not have.
    pub(super) statements: &'static str,
    /// Maximum nesting depth of operands, since deeper recursion would risk the thread's stack; and the depth of a
    /// bracket.
    pub(super) deepest: usize,
    pub(super) bracket_depth: usize,
    /// Maximum number of values on the stack of an evaluation.
    pub(super) most_values: usize,
    pub(super) wording: Wording,
}

/// Optional features of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Texts in single quotes.
    Texts,
    /// Dots in names, as in `a.b`.
    DottedNames,
    /// Words of the language are case-insensitive.
    AnyCase,
    /// A number and a name, or a bracket and a name, form a product, as in `2x`; a number ends where a name begins.
    ImpliedProducts,
    /// `value if condition else otherwise`.
    IfElse,
    /// `%` takes the divisor's sign.
    Modulo,
    /// A function's name without values is an error; without this feature it is a name like any other.
    ReservedFunctions,
}

/// The operation of a function.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// The operation of the step, with as many values as its operands.
    Fixed(Step),
    /// Any number of values: the operation on the first value, the operation that combines each further value with the
    /// result, and the operation that combines the number of values with it at the end, if any.
    Fold(Unary, Binary, Option<Binary>),
}

/// The error messages of a language.
#[derive(Debug)]
pub struct Wording {
    /// The tokens with which an operand can begin.
    pub operand: &'static str,
    /// The bracket that is missing before a closing bracket.
    pub opened: &'static str,
    pub too_deep: &'static str,
    /// Message for a bracket that is open at the end of the text; `None` if `unclosed` applies there too.
    pub never_closed: Option<&'static str>,
    /// Message for another token in place of a closing bracket.
    pub unclosed: fn(close: &str, found: &str, opened: &str) -> String,
    /// Message for a missing sign or word before another token, with advice.
    pub missing: fn(expected: &str, found: &str, advice: &str) -> String,
    /// Message for a function with a wrong number of values: at least, at most.
    pub count: fn(name: &str, given: usize, takes: (usize, usize)) -> String,
}

impl Dialect {
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The operator with this sign or word, and its binding strengths to the left and right.
    pub(super) fn operator(&self, word: &str) -> Option<(Binary, u8, u8)> {
        let mut levels = self.operators.iter();
        let (operator, left, right) =
            levels.find_map(|(left, right, words)| Some((self.word(words, word)?, *left, *right)))?;
        let is_modulo = operator == "%" && self.has(Feature::Modulo);
        Some((if is_modulo { Binary::Modulo } else { Binary::written(operator)? }, left, right))
    }

    /// The prefix with this sign or word.
    pub(super) fn prefix(&self, word: &str) -> Option<(&'static str, Option<Unary>, u8)> {
        self.prefixes.iter().copied().find(|(prefix, ..)| self.is(prefix, word))
    }

    /// The function with this name.
    pub(super) fn function(&self, word: &str) -> Option<(&'static str, Function)> {
        let name = self.word(self.functions, word)?;
        let function = match name {
            "if" => Function::Fixed(Step::Choose),
            "avg" => Function::Fold(Unary::Number, Binary::Add, Some(Binary::Divide)),
            "mand" => Function::Fold(Unary::Truth, Binary::And, None),
            "max" => Function::Fold(Unary::Number, Binary::Max, None),
            "min" => Function::Fold(Unary::Number, Binary::Min, None),
            "mor" => Function::Fold(Unary::Truth, Binary::Or, None),
            "mul" => Function::Fold(Unary::Number, Binary::Multiply, None),
            "sum" => Function::Fold(Unary::Number, Binary::Add, None),
            _ => {
                let step = Unary::written(name).map(Step::One).or(Binary::written(name).map(Step::Two));
                Function::Fixed(step.or(Ternary::written(name).map(Step::Three))?)
            }
        };
        Some((name, function))
    }

    /// The number with this name.
    pub(super) fn constant(&self, word: &str) -> Option<f64> {
        self.constants.iter().find_map(|(name, number)| self.is(name, word).then_some(*number))
    }

    /// Returns whether the word joins operands, and is not a name.
    pub(super) fn joins(&self, word: &str) -> bool {
        self.operator(word).is_some()
            || self.prefix(word).is_some()
            || self.has(Feature::IfElse) && matches!(word, "if" | "else")
    }

    pub(super) fn signs(&self) -> impl Iterator<Item = &'static str> {
        let operators = self.operators.iter().flat_map(|(_, _, words)| words.split(' '));
        let brackets = self.brackets.iter().flat_map(|(open, close)| [*open, *close]);
        operators.chain(brackets).chain([",", "?", ":"])
    }

    /// The entry of a list that matches a word in a formula.
    pub(super) fn word(&self, list: &'static str, word: &str) -> Option<&'static str> {
        list.split(' ').find(|known| self.is(known, word))
    }

    fn is(&self, known: &str, word: &str) -> bool {
        known == word || self.has(Feature::AnyCase) && known.eq_ignore_ascii_case(word)
    }
}
