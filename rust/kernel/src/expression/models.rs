//! The language of performance models: the usual subset of `ExprTk`, as `ElastiSim` uses it.
//!
//! `-x^2` is `-(x^2)`, and `2^-x` is `2^(-x)`. A product needs no sign: `2x`, `3(a + b)`, `(a + b)c`. Operators have
//! the precedence of `ExprTk`; the choice `condition ? x : y` has the lowest.
use super::dialect::{Dialect, Feature, Wording};
use super::operations::Unary;

/// The language of performance models.
pub static MODELS: Dialect = Dialect {
    features: &[
        Feature::Texts,
        Feature::DottedNames,
        Feature::AnyCase,
        Feature::ImpliedProducts,
        Feature::ReservedFunctions,
    ],
    operators: &[
        (12, 12, "^"),
        (10, 11, "* / %"),
        (7, 8, "+ -"),
        (5, 6, "< <= > >= = == != <>"),
        (4, 4, "in like ilike"),
        (3, 4, "and & nand"),
        (1, 2, "or | nor xor xnor"),
    ],
    unchained: None,
    prefixes: &[("-", Some(Unary::Negate), 12), ("+", None, 12)],
    brackets: &[("(", ")"), ("[", "]"), ("{", "}")],
    foreign: &[
        ("**", "write ^ for a power."),
        ("&&", "write 'and'."),
        ("||", "write 'or'."),
        (":=", "formulas assign nothing; compare with ==."),
        (";", "a formula is one expression; choose with if(condition, value, other value)."),
        ("~", "a formula is one expression."),
        ("$", "special functions are not known; write the expression out."),
        ("\"", "write texts as 'text'."),
        ("!", "write not(…)."),
    ],
    functions: "abs acos acosh asin asinh atan atan2 atanh avg ceil clamp cos cosh cot csc deg2grad deg2rad equal \
                erf erfc exp expm1 floor frac grad2deg hypot iclamp inrange log log10 log1p log2 logn mand max min \
                mod mor mul ncdf not not_equal pow rad2deg root round roundn sec sgn shl shr sin sinc sinh sqrt sum \
                tan tanh trunc if",
    least_values: 1,
    constants: &[("true", 1.0), ("false", 0.0)],
    statements: "var while for repeat until switch case return swap break continue",
    deepest: 200,
    bracket_depth: 1,
    most_values: usize::MAX,
    wording: Wording {
        operand: "a number, a name or a bracket",
        opened: "the bracket",
        too_deep: "this nests deeper than 200; write it flatter.",
        never_closed: None,
        unclosed: |close, found, opened| {
            format!("'{close}' must stand here, not {found}; the {opened} is not closed.")
        },
        missing: |expected, found, advice| format!("{expected} must stand here, not {found}; {advice}"),
        count: |name, given, takes| {
            let rule = match takes {
                (1, 1) => "1 value".into(),
                (1, _) => "at least 1 value".into(),
                (least, _) => format!("{least} values"),
            };
            format!("{name}() has {given} values; it needs {rule}.")
        },
    },
};
