//! From characters to tokens.
use super::Problem;
use crate::spelling::shown;

/// A token, and where it begins, in characters.
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

/// Longer ones first, so that `<=` is not `<` and `=`.
const SIGNS: [&str; 25] = [
    "<=", ">=", "==", "!=", "<>", "<", ">", "=", "+", "-", "*", "/", "%", "^", "&", "|", "(", ")", "[", "]",
    "{", "}", ",", "?", ":",
];

/// What people write in its place elsewhere, and what `ExprTk` has but formulas need not.
const FOREIGN: [(&str, &str); 9] = [
    ("**", "write ^ for a power."),
    ("&&", "write 'and'."),
    ("||", "write 'or'."),
    (":=", "formulas assign nothing; compare with ==."),
    (";", "a formula is one expression; choose with if(condition, value, other value)."),
    ("~", "a formula is one expression."),
    ("$", "special functions are not known; write the expression out."),
    ("\"", "write texts as 'text'."),
    ("!", "write not(…)."),
];

/// Splits a formula into its tokens, with `End` behind the last.
pub fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Problem> {
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
        let (length, token) = match first {
            '\'' => quoted(rest).map_err(|message| (position, message))?,
            '.' | '0'..='9' => number(rest).map_err(|message| (position, message))?,
            _ if is_word(first) => word(rest),
            _ => sign(rest).map_err(|message| (position, message))?,
        };
        tokens.push((position, token));
        position += characters(&rest[..length]);
        rest = &rest[length..];
    }
}

/// Digits, a fraction, an exponent; what follows at once is a factor, as in `2x`.
fn number(rest: &str) -> Result<(usize, Token<'_>), String> {
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
    let written = &rest[..length];
    match written.parse::<f64>() {
        Ok(_) if rest[length..].starts_with('.') => {
            Err(format!("{} is not a number; it has two points.", shown(&rest[..=length])))
        }
        Ok(number) if number.is_finite() => Ok((length, Token::Number(number))),
        Ok(_) => Err(format!("{} is too large for a number.", shown(written))),
        Err(_) => Err(format!("{} is not a number; write e.g. 1.5 or 2e3.", shown(written))),
    }
}

/// Letters, digits, underlines, and points before a letter.
fn word(rest: &str) -> (usize, Token<'_>) {
    let mut characters = rest.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let joins = character == '.' && next.is_some_and(|next| is_word(next) && !next.is_ascii_digit());
        if !(is_word(character) || joins) {
            return (index, Token::Word(&rest[..index]));
        }
    }
    (rest.len(), Token::Word(rest))
}

fn quoted(rest: &str) -> Result<(usize, Token<'_>), String> {
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

fn sign(rest: &str) -> Result<(usize, Token<'_>), String> {
    let foreign =
        FOREIGN.into_iter().find(|(foreign, _)| rest.starts_with(foreign) && !rest.starts_with("!="));
    if let Some((foreign, advice)) = foreign {
        return Err(format!("'{foreign}' is not of this language; {advice}"));
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Ok((sign.len(), Token::Sign(sign)));
    }
    let length = rest.chars().next().map_or(0, char::len_utf8);
    Err(format!("{} is not of this language.", shown(&rest[..length])))
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn characters(text: &str) -> usize {
    text.chars().count()
}
