//! From characters to tokens.
use super::ExpressionError;
use crate::spelling::shown;

/// A token, and where it begins, in characters.
pub type Placed<'a> = (usize, Token<'a>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    Number(f64),
    /// A name or a word such as `and`.
    Word(&'a str),
    Sign(&'static str),
    End,
}

/// Longer ones first, so that `**` is not two `*`.
const SIGNS: [&str; 17] =
    ["**", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "?", ":"];

/// What people write in its place elsewhere.
const FOREIGN: [(&str, &str); 6] = [
    ("&", "and"),
    ("|", "or"),
    ("!", "not"),
    ("^", "** for a power"),
    ("=", "== to compare"),
    ("//", "floor(a / b)"),
];

/// Splits a formula into its tokens, with `End` behind the last.
pub fn tokens(text: &str) -> Result<Vec<Placed<'_>>, ExpressionError> {
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
        let (length, token) = if first.is_ascii_digit() || first == '.' {
            number(rest, position)?
        } else if is_word(first) {
            let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            (length, Token::Word(&rest[..length]))
        } else {
            sign(rest, position)?
        };
        tokens.push((position, token));
        position += characters(&rest[..length]);
        rest = &rest[length..];
    }
}

fn number(rest: &str, position: usize) -> Result<(usize, Token<'_>), ExpressionError> {
    let mut length = 0;
    let mut previous = ' ';
    for character in rest.chars() {
        let is_exponent_sign = matches!(character, '+' | '-') && matches!(previous, 'e' | 'E');
        if !(is_word(character) || character == '.' || is_exponent_sign) {
            break;
        }
        length += character.len_utf8();
        previous = character;
    }
    let digits = &rest[..length];
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((length, Token::Number(number))),
        Ok(_) => Err(error(position, format!("{} is too large for a number.", shown(digits)))),
        Err(_) => Err(error(position, format!("{} is not a number; write e.g. 1.5 or 2e3.", shown(digits)))),
    }
}

fn sign(rest: &str, position: usize) -> Result<(usize, Token<'_>), ExpressionError> {
    let known = SIGNS.into_iter().find(|sign| rest.starts_with(sign) && !rest.starts_with("//"));
    if let Some(sign) = known {
        return Ok((sign.len(), Token::Sign(sign)));
    }
    let message = match FOREIGN.into_iter().find(|(foreign, _)| rest.starts_with(foreign)) {
        Some((foreign, ours)) => format!("'{foreign}' is not of this language; write {ours}."),
        None => format!(
            "{} is not of this language.",
            shown(&rest[..rest.chars().next().map_or(0, char::len_utf8)])
        ),
    };
    Err(error(position, message))
}

pub fn error(position: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError { position, message: message.into() }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn characters(text: &str) -> usize {
    text.chars().count()
}
