//! What formulas mean, what is refused, and that no text does harm.
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Formula, FormulaError, Operator};
use crate::application::{Scope, Value};

/// Evaluates a formula for a job of 4 nodes with 2 GPUs each.
fn evaluate(text: &str) -> Result<f64, FormulaError> {
    let arguments = BTreeMap::from([
        ("x".to_string(), Value::Number(3.0)),
        ("k".to_string(), Value::Number(-2.0)),
        ("net".to_string(), Value::Text("resnet50".into())),
        ("late".to_string(), Value::Number(1.0)),
        ("a.b".to_string(), Value::Number(8.0)),
    ]);
    let runtime_arguments = BTreeMap::from([("late".to_string(), Value::Number(2.0))]);
    let scope = Scope {
        arguments: &arguments,
        runtime_arguments: &runtime_arguments,
        nodes: 4,
        gpus_per_node: 2,
        phase_iteration: 5,
        nodes_min: 1,
        nodes_max: 16,
    };
    Formula::parse(text)?.evaluate(&scope)
}

#[track_caller]
fn all_give(cases: &[(&str, f64)]) {
    for &(text, expected) in cases {
        let value = evaluate(text);
        let close = |value: f64| {
            value.total_cmp(&expected).is_eq() || (value - expected).abs() <= 1e-14 * expected.abs()
        };
        assert!(matches!(value, Ok(value) if close(value)), "{text} gives {value:?}, not {expected}");
    }
}

#[test]
fn operators_bind_as_in_exprtk() {
    all_give(&[
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -2", 0.25),
        ("2 ^ -1 ^ 3", 0.5),
        ("k ^ 2", 4.0),
        ("- -x + +x", 6.0),
        ("-x * 2", -6.0),
        ("7 % 4 * 2", 6.0),
        ("-7 % 4", -3.0),
        ("1 < 2 < 2", 1.0),
        ("1 = 1 & 2 <> 3 | 0", 1.0),
        ("0 or 1 and 0", 0.0),
        ("1 xor 1 or 1", 1.0),
        ("1 nand 1 or 0 nor 0", 1.0),
        ("1 xnor 1", 1.0),
        ("1 + 1 == 2 and not(0)", 1.0),
        ("{1 + [2 * (3 + 4)]}", 15.0),
    ]);
}

#[test]
fn factors_need_no_sign() {
    all_give(&[
        ("2x", 6.0),
        ("2x^2", 18.0),
        ("1/2x", 1.5),
        ("-2x", -6.0),
        ("3(x + 1)", 12.0),
        ("(x + 1)2", 8.0),
        ("(x + 1)x", 12.0),
        ("2exp(0)", 2.0),
        ("2e1x", 60.0),
        ("2min(x, 1)x", 6.0),
        ("x late", 6.0),
    ]);
}

#[test]
fn choices_are_the_weakest() {
    all_give(&[
        ("x > 2 ? 1 : 2", 1.0),
        ("0 ? 1 : 0 ? 2 : 3", 3.0),
        ("1 ? 0 ? 2 : 3 : 4", 3.0),
        ("x == 3 and k < 0 ? x + 1 : 0", 4.0),
        ("1 + (0 ? 1 : 2)", 3.0),
        ("if(x = 3, 10, 20) + 1", 11.0),
        ("IF(TRUE AND FALSE, 1, Max(2, 3))", 3.0),
    ]);
}

#[test]
fn functions_give_what_their_names_say() {
    all_give(&[
        ("abs(-1.5) + ceil(1.2) + floor(-1.2) + trunc(-1.7) + round(2.5) + round(-2.5)", 0.5),
        ("frac(-1.25)", -0.25),
        ("roundn(1.2345678, 4)", 1.2346),
        ("avg(1, 2, 6) + sum(1, 2) + mul(2, 3, 4) + min(4) + max(1, 9, 3)", 43.0),
        ("clamp(1, 5, 3) + clamp(1, 0, 3) + iclamp(1, 1.5, 3) + inrange(1, 3, 3)", 6.0),
        ("log(exp(2)) + log2(8) + log10(100) + logn(81, 3) + log1p(0) + expm1(0)", 11.0),
        ("sqrt(16) + root(27, 3) + pow(2, 3) + hypot(3, 4) + mod(9, 5)", 24.0),
        ("sgn(-3) + sgn(0) + sgn(7)", 0.0),
        ("sin(0) + cos(0) + tan(0) + sinh(0) + cosh(0) + tanh(0) + sinc(0)", 3.0),
        ("asin(0) + acos(1) + atan(0) + atan2(0, 1) + asinh(0) + acosh(1) + atanh(0)", 0.0),
        ("sec(0) + csc(pi / 2) + cot(pi / 4)", 3.0),
        ("rad2deg(deg2rad(90)) + grad2deg(deg2grad(90))", 180.0),
        ("erf(0) + erfc(0) + ncdf(0)", 1.5),
        ("equal(1, 1 + 1e-12) + not_equal(1, 1.1)", 2.0),
        ("mand(1, 2, 3) + mor(0, 0, 1) + shl(3, 2) + shr(8, 1)", 18.0),
        ("min(epsilon, inf)", 1e-10),
    ]);
}

#[test]
fn names_mean_the_job() {
    all_give(&[
        ("num_nodes * 100 + num_gpus_per_node * 10 + num_gpus", 428.0),
        ("phase_iteration + num_nodes_min + num_nodes_max", 22.0),
        ("late", 2.0),
        ("a.b + x", 11.0),
    ]);
}

#[test]
fn texts_are_compared() {
    all_give(&[
        ("net == 'resnet50'", 1.0),
        ("net != 'resnet50' or 'res' in net", 1.0),
        ("'abc' < 'abd'", 1.0),
        ("net like 'res*?0' and net ilike 'RES*'", 1.0),
        ("net like 'res?'", 0.0),
        ("'aXbXc' like 'a*X?'", 1.0),
        ("(x > 2 ? net : 'none') = 'resnet50'", 1.0),
        (r"'it\'s' = 'it\'s'", 1.0),
        ("if(net like '*50', 50, 18) * 2", 100.0),
    ]);
}

#[test]
fn arithmetic_is_that_of_ieee() {
    all_give(&[("1 / 0", f64::INFINITY), ("-1 / 0", f64::NEG_INFINITY)]);
    assert!(evaluate("0 / 0").is_ok_and(f64::is_nan));
    assert!(evaluate("5 % 0 + sqrt(-1)").is_ok_and(f64::is_nan));
}

#[test]
fn errors_say_where_and_what() {
    for (text, position, message) in [
        ("", 0, "a number, a name or a bracket must stand here, not the end."),
        ("1 +", 3, "a number, a name or a bracket must stand here, not the end."),
        ("(1", 2, "')' must stand here, not the end; the '(' at character 1 is not closed."),
        ("(1]", 2, "')' must stand here, not ']'; the '(' at character 1 is not closed."),
        ("1)", 1, "this ')' closes nothing; remove it or open the bracket before."),
        ("(1)(2)", 3, "an operator is missing before '('."),
        ("2 3", 2, "an operator is missing before 3."),
        ("flops / num_node", 0, "no name or job argument named 'flops'. Known: a.b, k, late,"),
        (
            "1 / num_node",
            4,
            "no name or job argument named 'num_node'. Did you mean 'num_nodes'? Known: a.b, k,",
        ),
        ("squrt(2)", 0, "no function named 'squrt'. Did you mean 'sqrt'? Known: abs, acos,"),
        ("min()", 0, "min() has 0 values; it needs at least 1 value."),
        ("pow(2)", 0, "pow() has 1 values; it needs 2 values."),
        ("1 + log", 4, "the function 'log' needs its values: write log(…)."),
        ("if(1, 2)", 0, "if() has 2 values; it needs 3 values."),
        ("not 1", 0, "the function 'not' needs its values: write not(…)."),
        ("1 ? 2", 5, "':' must stand here, not the end; write: condition ? value : other value."),
        ("2 ** 3", 2, "'**' is not of this language; write ^ for a power."),
        ("x := 3", 2, "':=' is not of this language; formulas assign nothing; compare with ==."),
        ("1; 2", 1, "';' is not of this language; a formula is one expression;"),
        ("while (1) 2", 0, "no function named 'while'."),
        ("2 § 3", 2, "'§' is not of this language."),
        ("1.2.3", 0, "'1.2.' is not a number; it has two points."),
        ("1e999", 0, "'1e999' is too large for a number."),
        ("'abc", 0, "this text does not end; close it with '."),
        ("äöü + net", 0, "no name or job argument named 'äöü'."),
        ("2 + net", 2, "a text, 'resnet50', meets a number, 2; both must be of one kind."),
        ("net + net", 4, "'resnet50' and 'resnet50' are texts; texts can only be compared."),
        ("net", 0, "'resnet50' is a text; texts can only be compared."),
        ("2 in 3", 2, "numbers, 2 and 3, where texts must be."),
    ] {
        let Err(error) = evaluate(text) else { panic!("{text} is a formula") };
        assert!(error.message.starts_with(message), "{text}: {}", error.message);
        assert_eq!(error.position, position, "{text}");
    }
    let error = evaluate("1 / num_node").unwrap_err().to_string();
    assert!(error.ends_with("At character 5 of the formula '1 / num_node'."), "{error}");
}

#[test]
fn deep_and_long_formulas_do_no_harm() {
    for nested in ["(", "-", "2^", "1?", "min(", "1 ? 2 : ", "{["] {
        let error = Formula::parse(&nested.repeat(100_000)).unwrap_err();
        assert!(error.message.contains("nests deeper than 200"), "{nested}: {}", error.message);
    }
    assert_eq!(evaluate(&vec!["1"; 100_000].join(" + ")), Ok(100_000.0));
    assert_eq!(evaluate(&format!("sum({})", vec!["1"; 100_000].join(","))), Ok(100_000.0));
    let pattern = format!("'{}b' like '{}'", "a".repeat(2_000), "*a".repeat(1_000));
    assert_eq!(evaluate(&pattern), Ok(0.0));
}

#[test]
fn counts_are_truncated_and_bounded() {
    let nothing = BTreeMap::new();
    let scope = Scope {
        arguments: &nothing,
        runtime_arguments: &nothing,
        nodes: 1,
        gpus_per_node: 0,
        phase_iteration: 0,
        nodes_min: 1,
        nodes_max: 1,
    };
    let count = |text: &str| Formula::parse(text).and_then(|formula| formula.count(&scope));
    assert_eq!((count("2.9"), count("-0.9"), count("0")), (Ok(2), Ok(0), Ok(0)));
    for text in ["-1", "1/0", "0/0", "1e16"] {
        assert!(count(text).is_err_and(|error| error.message.contains("must be from 0 to 2^53")), "{text}");
    }
    assert_eq!(Formula::number(1e3), Formula::number(1000.0));
    assert_eq!(Formula::number(2.5).text(), "2.5");
}

/// A formula as a tree, to be written as text and evaluated directly.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Name(&'static str, f64),
    Negate(Box<Tree>),
    Two(&'static str, (u8, u8), Operator, Box<Tree>, Box<Tree>),
    Choose(Box<[Tree; 3]>),
}

/// Signs, how strongly they hold each side, and what they are.
const OPERATORS: [(&str, (u8, u8), Operator); 13] = [
    ("^", (12, 12), Operator::Power),
    ("*", (10, 11), Operator::Multiply),
    ("/", (10, 11), Operator::Divide),
    ("%", (10, 11), Operator::Modulo),
    ("+", (7, 8), Operator::Add),
    ("-", (7, 8), Operator::Subtract),
    ("<", (5, 6), Operator::Less),
    (">=", (5, 6), Operator::GreaterOrEqual),
    ("==", (5, 6), Operator::Equal),
    ("<>", (5, 6), Operator::NotEqual),
    ("and", (3, 4), Operator::And),
    ("or", (1, 2), Operator::Or),
    ("xor", (1, 2), Operator::Xor),
];

impl Tree {
    fn evaluate(&self) -> f64 {
        match self {
            Self::Number(number) | Self::Name(_, number) => *number,
            Self::Negate(inner) => -inner.evaluate(),
            Self::Two(_, _, operator, left, right) => {
                operator.of_numbers(left.evaluate(), right.evaluate()).unwrap_or(f64::NAN)
            }
            Self::Choose(parts) => parts[if parts[0].evaluate() == 0.0 { 2 } else { 1 }].evaluate(),
        }
    }

    /// The text with no brackets but the needed ones, and how strongly it holds together.
    fn write(&self) -> (String, u8) {
        match self {
            Self::Number(number) => (number.to_string(), 20),
            Self::Name(name, _) => ((*name).into(), 20),
            Self::Negate(inner) => (format!("-{}", inner.within(11)), 11),
            Self::Two("^", (hold, _), _, left, right) => {
                (format!("{} ^ {}", left.within(hold + 1), right.within(*hold)), *hold)
            }
            Self::Two(sign, (hold, after), _, left, right) => {
                (format!("{} {sign} {}", left.within(*hold), right.within(*after)), *hold)
            }
            Self::Choose(parts) => {
                let [condition, value, otherwise] = parts.as_ref();
                (format!("{} ? {} : {}", condition.within(1), value.write().0, otherwise.write().0), 0)
            }
        }
    }

    fn within(&self, least: u8) -> String {
        match self.write() {
            (text, hold) if hold < least => format!("({text})"),
            (text, _) => text,
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0.0..1e6_f64).prop_map(Tree::Number),
        (0_u8..4).prop_map(|number| Tree::Number(f64::from(number))),
        prop::sample::select(&[("x", 3.0), ("k", -2.0), ("num_gpus", 8.0)][..])
            .prop_map(|(name, value)| Tree::Name(name, value)),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let three = [inner.clone(), inner.clone(), inner.clone()];
        prop_oneof![
            1 => inner.clone().prop_map(|tree| Tree::Negate(Box::new(tree))),
            5 => (prop::sample::select(&OPERATORS[..]), inner.clone(), inner.clone()).prop_map(
                |((sign, binding, operator), left, right)| {
                    Tree::Two(sign, binding, operator, Box::new(left), Box::new(right))
                }
            ),
            1 => three.prop_map(|parts| Tree::Choose(Box::new(parts))),
        ]
    })
}

proptest! {
    /// The program gives the bits that the tree gives.
    #[test]
    fn agrees_with_the_tree(tree in trees()) {
        let (text, _) = tree.write();
        let (program, direct) = (evaluate(&text), tree.evaluate());
        let agrees = |value: f64| value.to_bits() == direct.to_bits() || value.is_nan() && direct.is_nan();
        prop_assert!(matches!(program, Ok(value) if agrees(value)), "{text}: {program:?}, not {direct}");
    }

    /// No text makes the parser panic, and an error points into the text or to its end.
    #[test]
    fn any_text(text in "\\PC*|[-+*/%^<>=!?:,()0-9.e a-f'\\[\\]{}&|]*|(x|net|if|in|and|or|not|like|min|'a|\\(|\\)|,|[ -+*?:<1-9.']){0,20}") {
        if let Err(error) = evaluate(&text) {
            prop_assert!(error.position <= text.chars().count());
        }
    }

    /// Damage to a formula is found or harmless.
    #[test]
    fn damaged_formulas(tree in trees(), from in any::<prop::sample::Index>(), length in 0_usize..6) {
        let characters: Vec<char> = tree.write().0.chars().collect();
        let from = from.index(characters.len());
        let kept = characters.iter().enumerate().filter(|(index, _)| !(from..from + length).contains(index));
        let damaged: String = kept.map(|(_, character)| character).collect();
        if let Err(error) = evaluate(&damaged) {
            prop_assert!(error.position <= damaged.chars().count());
        }
    }
}
