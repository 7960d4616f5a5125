//! The language of `order=expression("…")`: arithmetic as in Python, plus C's conditional operator.
//!
//! `-2 ** 2` is -4, and the exponent may begin with a sign. Choices are `x if condition else y` and `condition ? x :
//! y`; they have the lowest precedence.
use super::dialect::{Dialect, Feature, Wording};
use super::operations::Unary;

/// The language of orders.
pub static ORDERS: Dialect = Dialect {
    features: &[Feature::IfElse, Feature::Modulo],
    operators: &[
        (7, 7, "**"),
        (6, 7, "* / %"),
        (5, 6, "+ -"),
        (4, 5, "< <= > >= == !="),
        (2, 3, "and"),
        (1, 2, "or"),
    ],
    unchained: Some(4),
    prefixes: &[("-", Some(Unary::Negate), 7), ("+", None, 7), ("not", Some(Unary::Not), 3)],
    brackets: &[("(", ")")],
    foreign: &[
        ("&", "write and."),
        ("|", "write or."),
        ("!", "write not."),
        ("^", "write ** for a power."),
        ("=", "write == to compare."),
        ("//", "write floor(a / b)."),
    ],
    functions: "abs ceil exp floor log log10 log2 max min pow sqrt",
    least_values: 2,
    constants: &[],
    statements: "",
    deepest: 99,
    bracket_depth: 2,
    most_values: 48,
    wording: Wording {
        operand: "a number, a name or '('",
        opened: "a '('",
        too_deep: "the formula is nested too deeply; simplify it.",
        never_closed: Some("this '(' is not closed; add ')'."),
        unclosed: |_, found, _| format!("an operator or ')' is missing before {found}."),
        missing: |expected, found, advice| format!("{expected} is missing before {found}; {advice}"),
        count: |name, given, (least, most)| {
            let values = if least == 1 { "value" } else { "values" };
            let more = if most > least { " or more" } else { "" };
            format!("{name} takes {least} {values}{more}, not {given}.")
        },
    },
};
