//! Conversion of tokens to a program, by precedence climbing.
use super::dialect::{Dialect, Feature, Function};
use super::error::ExpressionError;
use super::lexer::{Placed, Token, tokens};
use super::operations::{Binary, Unary};
use super::vm::{Program, Step};
use crate::spelling::{shown, unknown};

type Parsed = Result<(), ExpressionError>;

impl Program {
    /// Parses a formula; `name` returns the index of a name, or an error message.
    pub fn parse(
        text: &str,
        dialect: &Dialect,
        name: &mut dyn FnMut(&str) -> Result<usize, String>,
    ) -> Result<Self, ExpressionError> {
        let tokens = tokens(text, dialect)?;
        let mut parser =
            Parser { dialect, tokens: &tokens, name, next: 0, depth: 0, height: 0, program: Self::default() };
        parser.expression(0)?;
        match parser.token() {
            Token::End => Ok(parser.program),
            Token::Sign(sign) if dialect.brackets.iter().any(|(_, close)| close == sign) => {
                let opened = dialect.wording.opened;
                Err(parser.error(format!("this '{sign}' closes nothing; remove it or open {opened} before.")))
            }
            token => Err(parser.error(format!("an operator is missing before {}.", written(token)))),
        }
    }
}

struct Parser<'a> {
    dialect: &'a Dialect,
    tokens: &'a [Placed<'a>],
    name: &'a mut dyn FnMut(&str) -> Result<usize, String>,
    next: usize,
    depth: usize,
    /// Number of values that the program so far leaves on the stack.
    height: usize,
    program: Program,
}

impl<'a> Parser<'a> {
    /// Parses operands joined by operators with at least this left binding strength, and the following choice if
    /// `least` is 0.
    fn expression(&mut self, least: u8) -> Parsed {
        self.depth += 1;
        if self.depth > self.dialect.deepest {
            return Err(self.error(self.dialect.wording.too_deep));
        }
        self.operators(least)?;
        if least == 0 {
            self.choice()?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn operators(&mut self, least: u8) -> Parsed {
        self.prefixed(least)?;
        let mut compared = false;
        while let Some((operation, left, right, is_written)) = self.operator() {
            if left < least {
                break;
            }
            if Some(left) == self.dialect.unchained && std::mem::replace(&mut compared, true) {
                return Err(self.error("comparisons do not chain; write a < b and b < c."));
            }
            let position = self.position();
            self.next += usize::from(is_written);
            self.expression(right)?;
            self.emit(Step::Operator(operation), position)?;
        }
        Ok(())
    }

    /// The next operator, its binding strengths, and whether it is written: the product of `2` and `x` may be implied.
    fn operator(&self) -> Option<(Binary, u8, u8, bool)> {
        let token = self.token();
        if let Token::Sign(written) | Token::Word(written) = token
            && let Some((operation, left, right)) = self.dialect.operator(written)
        {
            return Some((operation, left, right, true));
        }
        let is_product = match (&self.tokens[self.next - 1].1, token) {
            _ if !self.dialect.has(Feature::ImpliedProducts) => false,
            (Token::Number(_), Token::Number(_)) | (Token::Text(_), _) => false,
            (_, Token::Number(_) | Token::Word(_)) => true,
            (Token::Number(_), Token::Sign(sign)) => self.bracket(sign).is_some(),
            _ => false,
        };
        let (operation, left, right) = self.dialect.operator("*").filter(|_| is_product)?;
        Some((operation, left, right, false))
    }

    /// Parses `? value : otherwise` after a condition, or `if condition else otherwise` after a value.
    fn choice(&mut self) -> Parsed {
        let position = self.position();
        let step = if self.takes(&Token::Sign("?")) {
            self.expression(0)?;
            self.expect(&Token::Sign(":"), "write: condition ? value : other value.")?;
            Step::Choose
        } else if self.dialect.has(Feature::IfElse) && self.takes(&Token::Word("if")) {
            self.operators(1)?;
            self.expect(&Token::Word("else"), "write: value if condition else other value.")?;
            Step::IfElse
        } else {
            return Ok(());
        };
        self.expression(0)?;
        self.emit(step, position)
    }

    /// Parses an operand with its prefixes.
    fn prefixed(&mut self, least: u8) -> Parsed {
        let position = self.position();
        let (Token::Sign(written) | Token::Word(written)) = self.token() else { return self.operand() };
        let Some((prefix, operation, binding)) = self.dialect.prefix(written) else { return self.operand() };
        if least > binding {
            let message = "is weaker than the operator before it; put it in parentheses.";
            return Err(self.error(format!("'{prefix}' {message}")));
        }
        self.next += 1;
        self.expression(binding)?;
        operation.map_or(Ok(()), |operation| self.emit(Step::One(operation), position))
    }

    fn operand(&mut self) -> Parsed {
        let position = self.position();
        let token = self.token();
        self.next += 1;
        match token {
            Token::Number(number) => self.emit(Step::Number(*number), position),
            Token::Text(text) => {
                let index = self.program.push_text(text.clone());
                self.emit(Step::Text(index), position)
            }
            Token::Word(word) if !self.dialect.joins(word) => self.word(word, position),
            Token::Sign(sign) if let Some(bracket) = self.bracket(sign) => {
                self.bracketed()?;
                self.close(bracket, position, &format!("'{sign}' at character {}", position + 1))
            }
            token => {
                let (operand, found) = (self.dialect.wording.operand, written(token));
                Err(ExpressionError { position, message: format!("{operand} must stand here, not {found}.") })
            }
        }
    }

    /// Parses a name, a constant, or a function with its values.
    fn word(&mut self, word: &str, position: usize) -> Parsed {
        if *self.token() == Token::Sign(self.dialect.brackets[0].0) {
            return self.call(word, position);
        }
        if let Some(number) = self.dialect.constant(word) {
            return self.emit(Step::Number(number), position);
        }
        let function = self.dialect.function(word).filter(|_| self.dialect.has(Feature::ReservedFunctions));
        let index = match (self.dialect.word(self.dialect.statements, word), function) {
            (Some(word), _) => Err(format!("'{word}' begins a statement; a formula is one expression.")),
            (_, Some((name, _))) => Err(format!("the function '{name}' needs its values: write {name}(…).")),
            _ => (self.name)(word),
        };
        let index = index.map_err(|message| ExpressionError { position, message })?;
        self.emit(Step::Name(index as u32), position)
    }

    fn call(&mut self, word: &str, position: usize) -> Parsed {
        let Some((name, function)) = self.dialect.function(word) else {
            let known: Vec<&str> = self.dialect.functions.split(' ').collect();
            return Err(ExpressionError { position, message: unknown("function", word, &known) });
        };
        let (least, most) = match function {
            Function::Fixed(step) => (step.operands(), step.operands()),
            Function::Fold(..) => (self.dialect.least_values, usize::MAX),
        };
        let opening = self.position();
        self.next += 1;
        let values = self.values(function, most, position)?;
        let opened = format!("bracket of the function at character {}", position + 1);
        self.close(self.dialect.brackets[0], opening, &opened)?;
        if values < least || values > most {
            let message = (self.dialect.wording.count)(name, values, (least, most));
            return Err(ExpressionError { position, message });
        }
        match function {
            Function::Fixed(step) => self.emit(step, position),
            Function::Fold(_, _, None) => Ok(()),
            Function::Fold(_, _, Some(operation)) => {
                self.emit(Step::Number(values as f64), position)?;
                self.emit(Step::Two(operation), position)
            }
        }
    }

    /// Parses a function's values, up to the closing bracket; returns their number.
    fn values(&mut self, function: Function, most: usize, position: usize) -> Result<usize, ExpressionError> {
        let mut count = 0;
        if *self.token() == Token::Sign(self.dialect.brackets[0].1) {
            return Ok(count);
        }
        loop {
            self.bracketed()?;
            count += 1;
            match function {
                // Without texts, every value is a number already.
                Function::Fold(Unary::Number, ..) if count == 1 && !self.dialect.has(Feature::Texts) => (),
                Function::Fold(first, ..) if count == 1 => self.emit(Step::One(first), position)?,
                Function::Fold(_, each, _) => self.emit(Step::Two(each), position)?,
                // A surplus value leads to an error later; until then it does not count.
                Function::Fixed(_) => self.height -= usize::from(count > most),
            }
            if !self.takes(&Token::Sign(",")) {
                return Ok(count);
            }
        }
    }

    /// Parses a whole formula, inside brackets or between commas.
    fn bracketed(&mut self) -> Parsed {
        let depth = self.depth;
        self.depth += self.dialect.bracket_depth - 1;
        self.expression(0)?;
        self.depth = depth;
        Ok(())
    }

    fn close(&mut self, (_, close): (&str, &'static str), opening: usize, opened: &str) -> Parsed {
        if self.takes(&Token::Sign(close)) {
            return Ok(());
        }
        let wording = &self.dialect.wording;
        match (self.token(), wording.never_closed) {
            (Token::End, Some(message)) => {
                Err(ExpressionError { position: opening, message: message.into() })
            }
            (token, _) => Err(self.error((wording.unclosed)(close, &written(token), opened))),
        }
    }

    fn expect(&mut self, token: &Token<'_>, advice: &str) -> Parsed {
        if self.takes(token) {
            return Ok(());
        }
        Err(self.error((self.dialect.wording.missing)(&written(token), &written(self.token()), advice)))
    }

    fn takes(&mut self, token: &Token<'_>) -> bool {
        let is_here = self.token() == token;
        self.next += usize::from(is_here);
        is_here
    }

    fn emit(&mut self, step: Step, position: usize) -> Parsed {
        self.height = self.height + 1 - step.operands();
        if self.height > self.dialect.most_values {
            return Err(self.error(self.dialect.wording.too_deep));
        }
        self.program.push(step, position, self.height);
        Ok(())
    }

    fn bracket(&self, sign: &str) -> Option<(&'static str, &'static str)> {
        self.dialect.brackets.iter().copied().find(|(open, _)| *open == sign)
    }

    fn token(&self) -> &'a Token<'a> {
        &self.here().1
    }

    fn position(&self) -> usize {
        self.here().0
    }

    fn here(&self) -> &'a Placed<'a> {
        // The last token is End; going beyond it is already an error.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn error(&self, message: impl Into<String>) -> ExpressionError {
        ExpressionError { position: self.position(), message: message.into() }
    }
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
