//! From tokens to a program, by precedence climbing.
use super::functions::FUNCTIONS;
use super::lexer::{Placed, Token};
use super::operators::{Binding, Operator, operator};
use super::{Problem, Program, Step};
use crate::spelling::{shown, unknown};

/// How deep brackets, signs, powers and choices may nest; deeper recursion would risk the thread's stack.
const DEEPEST: usize = 200;

const BRACKETS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];

/// Words of `ExprTk` that formulas do without.
const STATEMENTS: [&str; 11] =
    ["var", "while", "for", "repeat", "until", "switch", "case", "return", "swap", "break", "continue"];

/// Compiles the tokens of a formula.
pub fn program(tokens: &[Placed<'_>]) -> Result<Program, Problem> {
    let mut parser = Parser { tokens, next: 0, depth: 0, height: 0, program: Program::default() };
    parser.expression(0)?;
    match parser.token() {
        Token::End => Ok(parser.program),
        Token::Sign(sign @ (")" | "]" | "}")) => {
            Err(parser
                .problem(format!("this '{sign}' closes nothing; remove it or open the bracket before.")))
        }
        token => Err(parser.problem(format!("an operator is missing before {}.", written(token)))),
    }
}

struct Parser<'a> {
    tokens: &'a [Placed<'a>],
    next: usize,
    depth: usize,
    /// How many values the program so far leaves on the stack.
    height: usize,
    program: Program,
}

impl<'a> Parser<'a> {
    /// Operands with the operators between them that hold their left at least this strongly.
    fn expression(&mut self, least: u8) -> Result<(), Problem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.problem(format!("this nests deeper than {DEEPEST}; write it flatter.")));
        }
        self.operand()?;
        while let Some((operator, binding, is_written)) = self.operator() {
            if binding.left < least {
                break;
            }
            let position = self.position();
            self.next += usize::from(is_written);
            self.expression(binding.right)?;
            self.emit(Step::Operator(operator), position);
        }
        if least == 0 && *self.token() == Token::Sign("?") {
            self.choice()?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The operator that comes next, and whether it is written: between `2` and `x` a multiplication is not.
    fn operator(&self) -> Option<(Operator, Binding, bool)> {
        if let Token::Sign(sign) = self.token()
            && let Some((operator, binding)) = operator(sign)
        {
            return Some((operator, binding, true));
        }
        if let Token::Word(word) = self.token()
            && let Some((operator, binding)) = operator(&word.to_ascii_lowercase())
        {
            return Some((operator, binding, true));
        }
        let is_meant = match (&self.tokens[self.next - 1].1, self.token()) {
            (Token::Number(_), Token::Number(_)) | (Token::Text(_), _) => false,
            (_, Token::Number(_) | Token::Word(_)) | (Token::Number(_), Token::Sign("(" | "[" | "{")) => true,
            _ => false,
        };
        is_meant.then_some((Operator::Multiply, Binding::PRODUCT, false))
    }

    /// `? value : otherwise`, behind a condition.
    fn choice(&mut self) -> Result<(), Problem> {
        let position = self.position();
        self.next += 1;
        self.expression(0)?;
        self.expect(":", "write: condition ? value : other value.")?;
        self.expression(0)?;
        self.emit(Step::Choose, position);
        Ok(())
    }

    fn operand(&mut self) -> Result<(), Problem> {
        let position = self.position();
        let token = self.token();
        self.next += 1;
        match token {
            Token::Number(number) => self.emit(Step::Number(*number), position),
            Token::Text(text) => {
                let index = self.program.texts.len() as u32;
                self.program.texts.push(text.clone());
                self.emit(Step::Text(index), position);
            }
            Token::Word(word) if operator(&word.to_ascii_lowercase()).is_none() => {
                return self.word(word, position);
            }
            Token::Sign("-") => {
                self.expression(Binding::PRODUCT.right)?;
                self.emit(Step::Negate, position);
            }
            Token::Sign("+") => return self.expression(Binding::PRODUCT.right),
            Token::Sign(sign) if let Some((_, close)) = BRACKETS.iter().find(|(open, _)| open == sign) => {
                self.expression(0)?;
                return self
                    .expect(close, &format!("the '{sign}' at character {} is not closed.", position + 1));
            }
            token => {
                let what = written(token);
                return Err((
                    position,
                    format!("a number, a name or a bracket must stand here, not {what}."),
                ));
            }
        }
        Ok(())
    }

    /// A name, or a function with its values.
    fn word(&mut self, word: &'a str, position: usize) -> Result<(), Problem> {
        let lower = word.to_ascii_lowercase();
        if *self.token() == Token::Sign("(") {
            return self.call(word, &lower, position);
        }
        match lower.as_str() {
            "true" => self.emit(Step::Number(1.0), position),
            "false" => self.emit(Step::Number(0.0), position),
            _ if STATEMENTS.contains(&lower.as_str()) => {
                return Err((
                    position,
                    format!("'{lower}' is not of this language; a formula is one expression."),
                ));
            }
            _ if lower == "if" || FUNCTIONS.iter().any(|(name, ..)| *name == lower) => {
                return Err((
                    position,
                    format!("the function '{lower}' needs its values: write {lower}(…)."),
                ));
            }
            _ => self.name(word, position),
        }
        Ok(())
    }

    fn name(&mut self, word: &str, position: usize) {
        let names = &mut self.program.names;
        let index = names.iter().position(|known| known == word).unwrap_or_else(|| {
            names.push(word.into());
            names.len() - 1
        });
        self.emit(Step::Name(index as u32), position);
    }

    fn call(&mut self, word: &str, lower: &str, position: usize) -> Result<(), Problem> {
        let values = self.values(position)?;
        if lower == "if" {
            check_count(lower, values, 3, 3, position)?;
            self.emit(Step::Choose, position);
            return Ok(());
        }
        match FUNCTIONS.iter().find(|(name, ..)| *name == lower) {
            Some(&(name, function, least, most)) => {
                check_count(name, values, least, most, position)?;
                self.emit(Step::Function(function, values), position);
                Ok(())
            }
            None => Err((position, no_function(word))),
        }
    }

    /// The values of a function; how many they are.
    fn values(&mut self, position: usize) -> Result<u32, Problem> {
        self.next += 1;
        let mut count = 0;
        if *self.token() != Token::Sign(")") {
            loop {
                self.expression(0)?;
                count += 1;
                if *self.token() != Token::Sign(",") {
                    break;
                }
                self.next += 1;
            }
        }
        self.expect(
            ")",
            &format!("the bracket of the function at character {} is not closed.", position + 1),
        )?;
        Ok(count)
    }

    fn expect(&mut self, sign: &'static str, advice: &str) -> Result<(), Problem> {
        if *self.token() != Token::Sign(sign) {
            return Err(
                self.problem(format!("'{sign}' must stand here, not {}; {advice}", written(self.token())))
            );
        }
        self.next += 1;
        Ok(())
    }

    fn emit(&mut self, step: Step, position: usize) {
        self.height = self.height + 1 - step.operands();
        self.program.highest = self.program.highest.max(self.height);
        self.program.steps.push((step, position as u32));
    }

    fn token(&self) -> &'a Token<'a> {
        // The last token is End, and nobody steps over it without an error.
        &self.tokens[self.next.min(self.tokens.len() - 1)].1
    }

    fn position(&self) -> usize {
        self.tokens[self.next.min(self.tokens.len() - 1)].0
    }

    fn problem(&self, message: String) -> Problem {
        (self.position(), message)
    }
}

fn check_count(name: &str, given: u32, least: u32, most: u32, position: usize) -> Result<(), Problem> {
    let rule = match (least, most) {
        _ if (least..=most).contains(&given) => return Ok(()),
        (1, 1) => "1 value".to_string(),
        (_, u32::MAX) => "at least 1 value".to_string(),
        _ => format!("{least} values"),
    };
    Err((position, format!("{name}() has {given} values; it needs {rule}.")))
}

fn no_function(word: &str) -> String {
    let known: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).chain(["if"]).collect();
    unknown("function", word, &known)
}

fn written(token: &Token<'_>) -> String {
    match token {
        Token::Number(number) => number.to_string(),
        Token::Text(text) => format!("the text {}", shown(text)),
        Token::Word(word) => shown(word),
        Token::Sign(sign) => format!("'{sign}'"),
        Token::End => "the end".into(),
    }
}
