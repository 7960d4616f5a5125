use proptest::prelude::*;

use super::{Binary, Expression, Unary};

const NAMES: [&str; 4] = ["now", "submit_time", "requested_time", "tasks"];
const VALUES: [f64; 4] = [1000.0, 400.0, 3600.0, 8.0];

fn value(formula: &str) -> f64 {
    match Expression::parse(formula, &NAMES) {
        Ok(expression) => expression.evaluate(|index| VALUES[index]),
        Err(error) => panic!("{formula}: {error}"),
    }
}

fn message(formula: &str) -> String {
    match Expression::parse(formula, &NAMES) {
        Ok(expression) => panic!("{formula} was accepted: {expression:?}"),
        Err(error) => error.to_string(),
    }
}

/// Formulas mean what they mean in Python.
#[test]
#[allow(clippy::float_cmp)]
fn values() {
    let cases = [
        ("1", 1.0),
        (".5 + 1. + 2e3 + 1.5E-1", 2001.65),
        ("now - submit_time", 600.0),
        ("requested_time*tasks", 28_800.0),
        ("1 - 2 - 3", -4.0),
        ("2 + 3 * 4 ** 2 / 8", 8.0),
        ("2 ** 3 ** 2", 512.0),
        ("-2 ** 2", -4.0),
        ("2 ** -1", 0.5),
        ("2 ** - 2 ** 2", 0.0625),
        ("- - 3", 3.0),
        ("+3 - +2", 1.0),
        ("(1 + 2) * 3", 9.0),
        ("7 % 3", 1.0),
        ("-7 % 3", 2.0),
        ("7 % -3", -2.0),
        ("-6 % 3", 0.0),
        ("1 < 2", 1.0),
        ("2 <= 1", 0.0),
        ("1 + 1 == 2 and 3 != 4", 1.0),
        ("1 or 0 and 0", 1.0),
        ("not 1 == 2", 1.0),
        ("not not 5", 1.0),
        ("not 0 and 0", 0.0),
        ("5 and 3", 1.0),
        ("1 if tasks > 4 else 2", 1.0),
        ("1 if tasks < 4 else 2 if tasks < 6 else 3", 3.0),
        ("tasks > 4 ? 1 : 2", 1.0),
        ("0 ? 1 : 0 ? 2 : 3", 3.0),
        ("1 + (10 if 0 else 20)", 21.0),
        ("min(3, 1, 2) + max(1, 2)", 3.0),
        ("min(3, 1 if 0 else 2)", 2.0),
        ("abs(-3) + sqrt(16) + floor(-1.5) + ceil(1.2)", 7.0),
        ("log(exp(1)) + log2(8) + log10(1000)", 7.0),
        ("pow(2, 10)", 1024.0),
        ("1e308 * 10", f64::INFINITY),
        (" \t1\n+\u{a0}1 ", 2.0),
    ];
    for (formula, expected) in cases {
        assert_eq!(value(formula), expected, "{formula}");
    }
    assert!(value("0 / 0").is_nan());
    assert!(value("log(-1)").is_nan());
}

/// Which names a formula uses tells whether its order is dynamic.
#[test]
fn uses() {
    let expression = Expression::parse("now - 2 * tasks", &NAMES).expect("a formula");
    let used: Vec<bool> = (0..NAMES.len()).map(|index| expression.uses(index)).collect();
    assert_eq!(used, [true, false, false, true]);
}

/// Each way to be wrong says what is wrong, and where.
#[test]
fn errors() {
    let cases = [
        ("", "a number, a name or '(' must stand here, not the end. At character 1 of the formula."),
        ("1 +", "not the end. At character 4"),
        ("1 + * 2", "must stand here, not '*'. At character 5"),
        ("(1 + 2", "this '(' is not closed; add ')'. At character 1"),
        ("min(1, 2", "this '(' is not closed; add ')'. At character 4"),
        ("(1 2)", "an operator or ')' is missing before 2. At character 4"),
        ("1 + 2)", "this ')' closes nothing; remove it or open a '(' before. At character 6"),
        ("tasks tasks", "an operator is missing before 'tasks'. At character 7"),
        ("1 < 2 < 3", "comparisons do not chain; write a < b and b < c. At character 7"),
        ("1 + not 2", "'not' is weaker than the operator before it; put it in parentheses. At character 5"),
        ("1 if 2", "'else' is missing before the end; write: value if condition else other value."),
        ("1 ? 2", "':' is missing before the end; write: condition ? value : other value."),
        ("if", "must stand here, not 'if'"),
        ("()", "must stand here, not ')'. At character 2"),
        ("ü + 1", "no column named 'ü'. Known: now, requested_time, submit_time, tasks. At character 1"),
        ("üü + task", "no column named 'üü'."),
        ("2 * requsted_time", "no column named 'requsted_time'. Did you mean 'requested_time'? Known: now, "),
        ("run_time", "run_time is hidden from schedulers; requested_time is what they see. At character 1"),
        (
            "squrt(2)",
            "no function named 'squrt'. Did you mean 'sqrt'? Known: abs, ceil, exp, floor, log, log10,",
        ),
        ("sqrt", "no column named 'sqrt'."),
        ("sqrt()", "sqrt takes 1 value, not 0. At character 1"),
        ("sqrt(1, 2)", "sqrt takes 1 value, not 2."),
        ("pow(1, 2, 3)", "pow takes 2 values, not 3."),
        ("max(1)", "max takes 2 values or more, not 1."),
        ("max(1,)", "must stand here, not ')'"),
        ("1.2.3", "'1.2.3' is not a number; write e.g. 1.5 or 2e3. At character 1"),
        ("1 + 2x", "'2x' is not a number; write e.g. 1.5 or 2e3. At character 5"),
        ("1e999", "'1e999' is too large for a number."),
        ("1 = 2", "'=' is not of this language; write == to compare. At character 3"),
        ("1 & 2", "'&' is not of this language; write and. At character 3"),
        ("2 ^ 2", "'^' is not of this language; write ** for a power."),
        ("1 // 2", "'//' is not of this language; write floor(a / b)."),
        ("'now'", "is not of this language. At character 1"),
    ];
    for (formula, expected) in cases {
        let message = message(formula);
        assert!(message.contains(expected), "{formula}: {message}");
    }
}

/// Nesting that would exhaust a stack, the thread's or the evaluation's, is refused.
#[test]
fn deep_nesting() {
    let deep = [
        "(".repeat(100_000),
        "-".repeat(100_000) + "1",
        "not ".repeat(100_000) + "1",
        "1**".repeat(100_000) + "1",
        "1 ? ".repeat(100_000) + "1",
        "1 if 1 else ".repeat(100_000) + "1",
        "max(1, ".repeat(100_000),
        "1+(".repeat(60) + "1" + &")".repeat(60),
    ];
    for formula in deep {
        assert!(message(&formula).contains("nested too deeply"), "{}", &formula[..20]);
    }
    let wide = "1 + ".repeat(100_000) + "1";
    assert!((value(&wide) - 100_001.0).abs() < 0.5);
    let shallow = "(".repeat(40) + "1" + &")".repeat(40);
    assert!((value(&shallow) - 1.0).abs() < 0.5);
}

/// A formula as a tree: the other way to evaluate one.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Name(usize),
    Negate(Box<Tree>),
    Not(Box<Tree>),
    Call(&'static str, Unary, Box<Tree>),
    Two(&'static str, u8, Binary, Box<Tree>, Box<Tree>),
    Extreme(&'static str, Binary, Vec<Tree>),
    IfElse(Box<[Tree; 3]>),
    Choose(Box<[Tree; 3]>),
}

impl Tree {
    fn evaluate(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(index) => VALUES[*index],
            Self::Negate(inner) => -inner.evaluate(),
            Self::Not(inner) => f64::from(inner.evaluate() == 0.0),
            Self::Call(_, operation, inner) => operation.apply(inner.evaluate()),
            Self::Two(_, _, operation, left, right) => operation.apply(left.evaluate(), right.evaluate()),
            Self::Extreme(_, operation, values) => {
                let values = values.iter().map(Self::evaluate);
                values.reduce(|left, right| operation.apply(left, right)).unwrap_or_default()
            }
            Self::IfElse(parts) => {
                let [value, condition, otherwise] = parts.as_ref();
                if condition.evaluate() == 0.0 { otherwise.evaluate() } else { value.evaluate() }
            }
            Self::Choose(parts) => {
                let [condition, value, otherwise] = parts.as_ref();
                if condition.evaluate() == 0.0 { otherwise.evaluate() } else { value.evaluate() }
            }
        }
    }

    /// The formula's text with no parentheses but the needed ones, and its precedence.
    fn write(&self) -> (String, u8) {
        match self {
            Self::Number(number) => (number.to_string(), 9),
            Self::Name(index) => (NAMES[*index].into(), 9),
            Self::Negate(inner) => (format!("-{}", inner.within(7)), 6),
            Self::Not(inner) => (format!("not {}", inner.within(3)), 3),
            Self::Call(name, _, inner) => (format!("{name}({})", inner.write().0), 9),
            Self::Two(sign, 7, _, left, right) => (format!("{}{sign}{}", left.within(8), right.within(7)), 7),
            Self::Two(sign, 4, _, left, right) => {
                (format!("{} {sign} {}", left.within(5), right.within(5)), 4)
            }
            Self::Two(sign, level, _, left, right) => {
                (format!("{} {sign} {}", left.within(*level), right.within(*level + 1)), *level)
            }
            Self::Extreme(name, _, values) => {
                let values: Vec<String> = values.iter().map(|value| value.write().0).collect();
                (format!("{name}({})", values.join(", ")), 9)
            }
            Self::IfElse(parts) => {
                let [value, condition, otherwise] = parts.as_ref();
                (format!("{} if {} else {}", value.within(1), condition.within(1), otherwise.write().0), 0)
            }
            Self::Choose(parts) => {
                let [condition, value, otherwise] = parts.as_ref();
                (format!("{} ? {} : {}", condition.within(1), value.write().0, otherwise.write().0), 0)
            }
        }
    }

    fn within(&self, least: u8) -> String {
        match self.write() {
            (text, level) if level < least => format!("({text})"),
            (text, _) => text,
        }
    }
}

const OPERATORS: [(&str, u8, Binary); 14] = [
    ("or", 1, Binary::Or),
    ("and", 2, Binary::And),
    ("<", 4, Binary::Less),
    ("<=", 4, Binary::LessOrEqual),
    (">", 4, Binary::Greater),
    (">=", 4, Binary::GreaterOrEqual),
    ("==", 4, Binary::Equal),
    ("!=", 4, Binary::NotEqual),
    ("+", 5, Binary::Add),
    ("-", 5, Binary::Subtract),
    ("*", 6, Binary::Multiply),
    ("/", 6, Binary::Divide),
    ("%", 6, Binary::Modulo),
    ("**", 7, Binary::Power),
];

const CALLS: [(&str, Unary); 8] = [
    ("abs", Unary::Abs),
    ("sqrt", Unary::Sqrt),
    ("log", Unary::Log),
    ("log2", Unary::Log2),
    ("log10", Unary::Log10),
    ("exp", Unary::Exp),
    ("floor", Unary::Floor),
    ("ceil", Unary::Ceil),
];

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0.0..1e6_f64).prop_map(Tree::Number),
        (0_u8..4).prop_map(|number| Tree::Number(f64::from(number))),
        (0..NAMES.len()).prop_map(Tree::Name),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        let three = || [inner.clone(), inner.clone(), inner.clone()];
        prop_oneof![
            1 => inner.clone().prop_map(|tree| Tree::Negate(Box::new(tree))),
            1 => inner.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            1 => (prop::sample::select(&CALLS[..]), inner.clone())
                .prop_map(|((name, operation), tree)| Tree::Call(name, operation, Box::new(tree))),
            4 => (prop::sample::select(&OPERATORS[..]), inner.clone(), inner.clone()).prop_map(
                |((sign, level, operation), left, right)| {
                    Tree::Two(sign, level, operation, Box::new(left), Box::new(right))
                }
            ),
            1 => (any::<bool>(), prop::collection::vec(inner.clone(), 2..4)).prop_map(|(least, values)| {
                let (name, operation) = if least { ("min", Binary::Min) } else { ("max", Binary::Max) };
                Tree::Extreme(name, operation, values)
            }),
            1 => three().prop_map(|parts| Tree::IfElse(Box::new(parts))),
            1 => three().prop_map(|parts| Tree::Choose(Box::new(parts))),
        ]
    })
}

proptest! {
    /// The program gives the bits that the tree gives.
    #[test]
    fn agrees_with_the_tree(tree in trees()) {
        let (text, _) = tree.write();
        let parsed = Expression::parse(&text, &NAMES);
        prop_assert!(parsed.is_ok(), "{text}: {parsed:?}");
        if let Ok(expression) = parsed {
            let (program, direct) = (expression.evaluate(|index| VALUES[index]), tree.evaluate());
            prop_assert!(program.to_bits() == direct.to_bits() || program.is_nan() && direct.is_nan(), "{text}");
        }
    }

    /// No text makes the parser panic, and an error points into the text or to its end.
    #[test]
    fn any_text(text in "\\PC*|[-+*/%<>=!?:,()0-9.e a-f]*|(now|if|else|and|or|not|min|\\(|\\)|,|[ -+*?:<1-9.]){0,20}") {
        match Expression::parse(&text, &NAMES) {
            Ok(expression) => { expression.evaluate(|index| VALUES[index]); }
            Err(error) => prop_assert!(error.position <= text.chars().count()),
        }
    }

    /// Damage to a formula is found or harmless.
    #[test]
    fn damaged_formulas(tree in trees(), from in any::<prop::sample::Index>(), length in 0_usize..6) {
        let characters: Vec<char> = tree.write().0.chars().collect();
        let from = from.index(characters.len());
        let damaged: String = characters.iter().enumerate()
            .filter(|(index, _)| !(from..from + length).contains(index))
            .map(|(_, character)| character)
            .collect();
        if let Ok(expression) = Expression::parse(&damaged, &NAMES) {
            expression.evaluate(|index| VALUES[index]);
        }
    }
}
