//! What a language of formulas consists of, as data: lexer, parser and machine are the same for all.
use super::operations::{Binary, Ternary, Unary};
use super::vm::Step;

/// A language of formulas.
// Lists of signs and words are separated by spaces.
#[derive(Debug)]
pub struct Dialect {
    /// What it has that others have not.
    pub(super) features: &'static [Feature],
    /// Operators, and how strongly they hold what stands to their left, from 1, and to their right; as strongly
    /// as the left if they group from the right.
    pub(super) operators: &'static [(u8, u8, &'static str)],
    /// How strongly those operators hold their left that must not follow one another, as in `1 < 2 < 3`.
    pub(super) unchained: Option<u8>,
    /// Signs and words before an operand: what they do, if anything, and how strongly they hold the operand. An
    /// operator before them must not hold more strongly.
    pub(super) prefixes: &'static [(&'static str, Option<Unary>, u8)],
    /// How brackets open and close; functions take the first.
    pub(super) brackets: &'static [(&'static str, &'static str)],
    /// Signs of other languages, and what to write in their place.
    pub(super) foreign: &'static [(&'static str, &'static str)],
    pub(super) functions: &'static str,
    /// How many values those functions need that take any number of them.
    pub(super) least_values: usize,
    /// Words that are numbers.
    pub(super) constants: &'static [(&'static str, f64)],
    /// Words of statements, which no formula has.
    pub(super) statements: &'static str,
    /// How deep operands may nest, since deeper recursion would risk the thread's stack, and how deep a bracket counts.
    pub(super) deepest: usize,
    pub(super) bracket_depth: usize,
    /// How many values an evaluation may have to keep.
    pub(super) most_values: usize,
    pub(super) wording: Wording,
}

/// What some languages have and others have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Texts in single quotes.
    Texts,
    /// Points in names, as in `a.b`.
    DottedNames,
    /// Words of the language may be written in capitals.
    AnyCase,
    /// A number and a name, or a bracket and a name, make a product, as in `2x`; a number ends where a name begins.
    ImpliedProducts,
    /// `value if condition else otherwise`.
    IfElse,
    /// `%` takes the divisor's sign.
    Modulo,
    /// A function's name without values is an error; elsewhere it is a name like any other.
    ReservedFunctions,
}

/// What a function does with its values.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// It takes as many values as the step.
    Fixed(Step),
    /// It takes any number: what happens to the first value, what joins each further one to the result, and what
    /// joins their number to it in the end, if anything.
    Fold(Unary, Binary, Option<Binary>),
}

/// How the errors of a language are worded.
#[derive(Debug)]
pub struct Wording {
    /// What an operand begins with.
    pub operand: &'static str,
    /// What should have been opened before a bracket closes.
    pub opened: &'static str,
    pub too_deep: &'static str,
    /// At a bracket that is open when the text ends; `None` where `unclosed` says so at the end.
    pub never_closed: Option<&'static str>,
    /// Something else stands where a bracket should close; which bracket.
    pub unclosed: fn(close: &str, found: &str, opened: &str) -> String,
    /// A sign or word is missing before something else; what to write.
    pub missing: fn(expected: &str, found: &str, advice: &str) -> String,
    /// A function has this many values, and takes another number of them: at least, at most.
    pub count: fn(name: &str, given: usize, takes: (usize, usize)) -> String,
}

impl Dialect {
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The operator that a sign or word is, and how strongly it holds its left and its right.
    pub(super) fn operator(&self, word: &str) -> Option<(Binary, u8, u8)> {
        let mut levels = self.operators.iter();
        let (operator, left, right) =
            levels.find_map(|(left, right, words)| Some((self.word(words, word)?, *left, *right)))?;
        let is_modulo = operator == "%" && self.has(Feature::Modulo);
        Some((if is_modulo { Binary::Modulo } else { Binary::written(operator)? }, left, right))
    }

    /// The prefix that a sign or word is.
    pub(super) fn prefix(&self, word: &str) -> Option<(&'static str, Option<Unary>, u8)> {
        self.prefixes.iter().copied().find(|(prefix, ..)| self.is(prefix, word))
    }

    /// The function that has this name.
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

    /// The number that a word is.
    pub(super) fn constant(&self, word: &str) -> Option<f64> {
        self.constants.iter().find_map(|(name, number)| self.is(name, word).then_some(*number))
    }

    /// Whether the word joins operands, so that it is no name.
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

    /// The word of a list that a word in a formula is.
    pub(super) fn word(&self, list: &'static str, word: &str) -> Option<&'static str> {
        list.split(' ').find(|known| self.is(known, word))
    }

    fn is(&self, known: &str, word: &str) -> bool {
        known == word || self.has(Feature::AnyCase) && known.eq_ignore_ascii_case(word)
    }
}
