//! Conversion of characters to tokens.
use super::dialect::{Dialect, Feature};
use super::error::ExpressionError;
use crate::spelling::shown;

/// A token and its position in characters.
pub type Placed<'a> = (usize, Token<'a>);

#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    Number(f64),
    Text(String),
    /// A name, a function, or a word such as `and`.
    Word(&'a str),
    Sign(&'static str),
    End,
}

/// A token with the number of its bytes, or an error message.
type Read<'a> = Result<(usize, Token<'a>), String>;

/// Splits a formula into its tokens, followed by `End`.
pub fn tokens<'a>(text: &'a str, dialect: &Dialect) -> Result<Vec<Placed<'a>>, ExpressionError> {
    let mut tokens = Vec::new();
    let (mut rest, mut position) = (text, 0);
    loop {
        let trimmed = rest.trim_start();
        position += characters(&rest[..rest.len() - trimmed.len()]);
        rest = trimmed;
        let Some(first) = rest.chars().next() else {
            tokens.push((position, Token::End));
            return Ok(tokens);
        };
        let read = match first {
            '\'' if dialect.has(Feature::Texts) => quoted(rest),
            '.' | '0'..='9' => number(rest, dialect.has(Feature::ImpliedProducts)),
            _ if is_word(first) => Ok(word(rest, dialect.has(Feature::DottedNames))),
            _ => sign(rest, dialect),
        };
        let (length, token) = read.map_err(|message| ExpressionError { position, message })?;
        tokens.push((position, token));
        position += characters(&rest[..length]);
        rest = &rest[length..];
    }
}

/// Reads digits, a fraction, and an exponent. A directly following name is a factor, as in `2x`, or an error.
fn number(rest: &str, may_be_factor: bool) -> Read<'_> {
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if rest[length..].starts_with('.') {
        length += 1 + digits(length + 1);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let signed = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + signed);
        length += if exponent > 0 { 1 + signed + exponent } else { 0 };
    }
    let no_number =
        |length| Err(format!("{} is not a number; write e.g. 1.5 or 2e3.", shown(&rest[..length])));
    if !may_be_factor && rest[length..].starts_with(is_numeric) {
        return no_number(rest.find(|character| !is_numeric(character)).unwrap_or(rest.len()));
    }
    match rest[..length].parse::<f64>() {
        Ok(_) if rest[length..].starts_with('.') => {
            Err(format!("{} is not a number; it has two points.", shown(&rest[..=length])))
        }
        Ok(number) if number.is_finite() => Ok((length, Token::Number(number))),
        Ok(_) => Err(format!("{} is too large for a number.", shown(&rest[..length]))),
        Err(_) => no_number(length),
    }
}

/// Reads letters, digits, underscores, and dots before a letter if names may contain them.
fn word(rest: &str, may_have_points: bool) -> (usize, Token<'_>) {
    let mut characters = rest.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let joins = character == '.' && next.is_some_and(|next| is_word(next) && !next.is_ascii_digit());
        if !(is_word(character) || may_have_points && joins) {
            return (index, Token::Word(&rest[..index]));
        }
    }
    (rest.len(), Token::Word(rest))
}

fn quoted(rest: &str) -> Read<'_> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        match character {
            '\'' => return Ok((index + 1, Token::Text(text))),
            '\\' => match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 't')) => text.push('\t'),
                Some((_, escaped)) => text.push(escaped),
                None => break,
            },
            _ => text.push(character),
        }
    }
    Err("this text does not end; close it with '.".into())
}

/// Reads the longest sign, so that `<=` is not `<` and `=`.
fn sign<'a>(rest: &'a str, dialect: &Dialect) -> Read<'a> {
    let sign = dialect.signs().filter(|sign| rest.starts_with(sign)).max_by_key(|sign| sign.len());
    let foreign = dialect.foreign.iter().filter(|(sign, _)| rest.starts_with(sign));
    match (sign, foreign.max_by_key(|(sign, _)| sign.len())) {
        (Some(sign), foreign) if foreign.is_none_or(|(foreign, _)| foreign.len() < sign.len()) => {
            Ok((sign.len(), Token::Sign(sign)))
        }
        (_, Some((foreign, advice))) => Err(format!("'{foreign}' is an unknown operator; {advice}")),
        (_, None) => {
            let length = rest.chars().next().map_or(0, char::len_utf8);
            Err(format!("{} is an unknown character.", shown(&rest[..length])))
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_numeric(character: char) -> bool {
    is_word(character) || character == '.'
}

fn characters(text: &str) -> usize {
    text.chars().count()
}
