//! From tokens to a program, by precedence climbing.
use serde::{Deserialize, Serialize};

use super::lexer::{Placed, Token, error};
use super::{Binary, ExpressionError, STACK, Step, Unary};
use crate::spelling::{self, shown};

/// How deep parentheses, signs and choices may nest; deeper recursion would risk the thread's stack.
const DEEPEST: usize = 100;

/// What schedulers do not see.
const HIDDEN: &str = "run_time";

/// Precedences, weakest first.
mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const COMPARISON: u8 = 4;
    pub const SUM: u8 = 5;
    pub const PRODUCT: u8 = 6;
    pub const POWER: u8 = 7;
}

/// Compiles the tokens of a formula over the given names.
pub fn program(tokens: &[Placed<'_>], names: &[&str]) -> Result<Vec<Step>, ExpressionError> {
    let mut parser = Parser { tokens, names, next: 0, depth: 0, height: 0, program: Vec::new() };
    parser.formula()?;
    match parser.token() {
        Token::End => Ok(parser.program),
        Token::Sign(")") => Err(parser.error("this ')' closes nothing; remove it or open a '(' before.")),
        token => Err(parser.error(format!("an operator is missing before {}.", written(token)))),
    }
}

struct Parser<'a> {
    tokens: &'a [Placed<'a>],
    names: &'a [&'a str],
    next: usize,
    depth: usize,
    /// How many values the program so far leaves on the stack.
    height: usize,
    program: Vec<Step>,
}

impl<'a> Parser<'a> {
    /// A whole formula: what stands in parentheses, between commas, or in a branch.
    fn formula(&mut self) -> Result<(), ExpressionError> {
        self.deeper(|parser| {
            parser.binary(level::OR)?;
            let step = if parser.takes(Token::Word("if")) {
                parser.binary(level::OR)?;
                parser.expect(Token::Word("else"), "write: value if condition else other value.")?;
                Step::IfElse
            } else if parser.takes(Token::Sign("?")) {
                parser.formula()?;
                parser.expect(Token::Sign(":"), "write: condition ? value : other value.")?;
                Step::Choose
            } else {
                return Ok(());
            };
            parser.formula()?;
            parser.emit(step)
        })
    }

    /// Operators of at least this precedence, with their operands.
    fn binary(&mut self, least: u8) -> Result<(), ExpressionError> {
        self.deeper(|parser| {
            parser.prefixed(least)?;
            let mut compared = false;
            while let Some((precedence, operation)) = operator(parser.token()) {
                if precedence < least {
                    break;
                }
                if precedence == level::COMPARISON {
                    if compared {
                        return Err(parser.error("comparisons do not chain; write a < b and b < c."));
                    }
                    compared = true;
                }
                parser.next += 1;
                // Powers group from the right, everything else from the left.
                parser.binary(if precedence == level::POWER { precedence } else { precedence + 1 })?;
                parser.emit(Step::Two(operation))?;
            }
            Ok(())
        })
    }

    /// An operand with the signs before it.
    fn prefixed(&mut self, least: u8) -> Result<(), ExpressionError> {
        if self.token() == Token::Word("not") {
            if least > level::NOT {
                return Err(self.error("'not' is weaker than the operator before it; put it in parentheses."));
            }
            self.next += 1;
            self.binary(level::NOT)?;
            self.emit(Step::One(Unary::Not))
        } else if self.takes(Token::Sign("-")) {
            self.binary(level::POWER)?;
            self.emit(Step::One(Unary::Negate))
        } else if self.takes(Token::Sign("+")) {
            self.binary(level::POWER)
        } else {
            self.operand()
        }
    }

    fn operand(&mut self) -> Result<(), ExpressionError> {
        match self.token() {
            Token::Number(number) => {
                self.next += 1;
                self.emit(Step::Number(number))
            }
            Token::Word(word) if !is_reserved(word) => self.word(word),
            Token::Sign("(") => {
                let opening = self.position();
                self.next += 1;
                self.formula()?;
                self.close(opening)
            }
            token => {
                let message = format!("a number, a name or '(' must stand here, not {}.", written(token));
                Err(self.error(message))
            }
        }
    }

    /// A column, or a function with its values.
    fn word(&mut self, word: &'a str) -> Result<(), ExpressionError> {
        let position = self.position();
        self.next += 1;
        let opening = self.position();
        if self.takes(Token::Sign("(")) {
            let function = function(word).ok_or_else(|| unknown("function", word, &FUNCTIONS, position))?;
            let count = self.values(function)?;
            self.close(opening)?;
            return function.check(word, count).map_err(|message| error(position, message));
        }
        if word == HIDDEN {
            let message = "run_time is hidden from schedulers; requested_time is what they see.";
            return Err(error(position, message));
        }
        let index = self.names.iter().position(|name| *name == word);
        let index = index.ok_or_else(|| unknown("column", word, self.names, position))?;
        self.emit(Step::Name(index))
    }

    /// A function's values, up to the closing parenthesis; gives their number.
    fn values(&mut self, function: Function) -> Result<usize, ExpressionError> {
        if self.token() == Token::Sign(")") {
            return Ok(0);
        }
        let mut count = 0;
        loop {
            self.formula()?;
            count += 1;
            let step = match function {
                Function::One(operation) if count == 1 => Step::One(operation),
                // A value too many is an error in the end; until then the program stays well-formed.
                Function::One(_) => Step::Two(Binary::Add),
                Function::Two(operation) | Function::Many(operation) => Step::Two(operation),
            };
            if count >= step.operands() {
                self.emit(step)?;
            }
            if !self.takes(Token::Sign(",")) {
                return Ok(count);
            }
        }
    }

    fn close(&mut self, opening: usize) -> Result<(), ExpressionError> {
        match self.token() {
            Token::Sign(")") => {
                self.next += 1;
                Ok(())
            }
            Token::End => Err(error(opening, "this '(' is not closed; add ')'.")),
            token => Err(self.error(format!("an operator or ')' is missing before {}.", written(token)))),
        }
    }

    fn expect(&mut self, token: Token<'_>, hint: &str) -> Result<(), ExpressionError> {
        if self.takes(token) {
            return Ok(());
        }
        Err(self.error(format!("{} is missing before {}; {hint}", written(token), written(self.token()))))
    }

    fn takes(&mut self, token: Token<'_>) -> bool {
        let is_here = self.token() == token;
        self.next += usize::from(is_here);
        is_here
    }

    fn emit(&mut self, step: Step) -> Result<(), ExpressionError> {
        self.height = self.height + 1 - step.operands();
        if self.height > STACK {
            return Err(self.too_deep());
        }
        self.program.push(step);
        Ok(())
    }

    fn deeper(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), ExpressionError>,
    ) -> Result<(), ExpressionError> {
        if self.depth == DEEPEST {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn token(&self) -> Token<'a> {
        self.tokens.get(self.next).map_or(Token::End, |placed| placed.1)
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |placed| placed.0)
    }

    fn too_deep(&self) -> ExpressionError {
        self.error("the formula is nested too deeply; simplify it.")
    }

    fn error(&self, message: impl Into<String>) -> ExpressionError {
        error(self.position(), message)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Function {
    One(Unary),
    Two(Binary),
    Many(Binary),
}

impl Function {
    fn check(self, name: &str, count: usize) -> Result<(), String> {
        match self {
            Self::One(_) if count != 1 => Err(format!("{name} takes 1 value, not {count}.")),
            Self::Two(_) if count != 2 => Err(format!("{name} takes 2 values, not {count}.")),
            Self::Many(_) if count < 2 => Err(format!("{name} takes 2 values or more, not {count}.")),
            _ => Ok(()),
        }
    }
}

const FUNCTIONS: [&str; 11] =
    ["abs", "ceil", "exp", "floor", "log", "log10", "log2", "max", "min", "pow", "sqrt"];

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "abs" => Function::One(Unary::Abs),
        "ceil" => Function::One(Unary::Ceil),
        "exp" => Function::One(Unary::Exp),
        "floor" => Function::One(Unary::Floor),
        "log" => Function::One(Unary::Log),
        "log10" => Function::One(Unary::Log10),
        "log2" => Function::One(Unary::Log2),
        "max" => Function::Many(Binary::Max),
        "min" => Function::Many(Binary::Min),
        "pow" => Function::Two(Binary::Power),
        "sqrt" => Function::One(Unary::Sqrt),
        _ => return None,
    })
}

fn operator(token: Token<'_>) -> Option<(u8, Binary)> {
    Some(match token {
        Token::Word("or") => (level::OR, Binary::Or),
        Token::Word("and") => (level::AND, Binary::And),
        Token::Sign("<") => (level::COMPARISON, Binary::Less),
        Token::Sign("<=") => (level::COMPARISON, Binary::LessOrEqual),
        Token::Sign(">") => (level::COMPARISON, Binary::Greater),
        Token::Sign(">=") => (level::COMPARISON, Binary::GreaterOrEqual),
        Token::Sign("==") => (level::COMPARISON, Binary::Equal),
        Token::Sign("!=") => (level::COMPARISON, Binary::NotEqual),
        Token::Sign("+") => (level::SUM, Binary::Add),
        Token::Sign("-") => (level::SUM, Binary::Subtract),
        Token::Sign("*") => (level::PRODUCT, Binary::Multiply),
        Token::Sign("/") => (level::PRODUCT, Binary::Divide),
        Token::Sign("%") => (level::PRODUCT, Binary::Modulo),
        Token::Sign("**") => (level::POWER, Binary::Power),
        _ => return None,
    })
}

fn is_reserved(word: &str) -> bool {
    matches!(word, "if" | "else" | "and" | "or" | "not")
}

fn written(token: Token<'_>) -> String {
    match token {
        Token::Number(number) => number.to_string(),
        Token::Word(text) => shown(text),
        Token::Sign(sign) => format!("'{sign}'"),
        Token::End => "the end".into(),
    }
}

fn unknown(kind: &str, word: &str, known: &[&str], position: usize) -> ExpressionError {
    error(position, spelling::unknown(kind, word, known))
}
