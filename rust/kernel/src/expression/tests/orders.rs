//! Tests of the language of orders.
use super::{ORDERS, evaluate, parse};

fn message(formula: &str) -> String {
    match parse(formula, &ORDERS) {
        Ok(program) => panic!("{formula} was accepted: {program:?}"),
        Err(error) => error.to_string(),
    }
}

/// Formulas have the same meaning as in Python.
#[test]
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
        assert_eq!(evaluate(formula, &ORDERS), Ok(expected), "{formula}");
    }
    assert!(evaluate("0 / 0", &ORDERS).is_ok_and(f64::is_nan));
    assert!(evaluate("log(-1)", &ORDERS).is_ok_and(f64::is_nan));
}

/// The names used by a formula determine whether its order changes with time.
#[test]
fn uses() {
    let program = parse("now - 2 * tasks", &ORDERS).expect("a formula");
    let used: Vec<bool> = (0..4).map(|index| program.uses(index)).collect();
    assert_eq!(used, [true, false, false, true]);
}

/// Each error message names the error and its position.
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
        ("üü + 2 * ü", "no name 'üü'. At character 1"),
        ("\"ü\"", "is an unknown character. At character 1"),
        (
            "squrt(2)",
            "no function named 'squrt'. Did you mean 'sqrt'? Known: abs, ceil, exp, floor, log, log10,",
        ),
        ("sqrt", "no name 'sqrt'."),
        ("sqrt()", "sqrt takes 1 value, not 0. At character 1"),
        ("sqrt(1, 2)", "sqrt takes 1 value, not 2."),
        ("pow(1, 2, 3)", "pow takes 2 values, not 3."),
        ("max(1)", "max takes 2 values or more, not 1."),
        ("max(1,)", "must stand here, not ')'"),
        ("1.2.3", "'1.2.3' is not a number; write e.g. 1.5 or 2e3. At character 1"),
        ("1 + 2x", "'2x' is not a number; write e.g. 1.5 or 2e3. At character 5"),
        ("1e999", "'1e999' is too large for a number."),
        ("1 = 2", "'=' is an unknown operator; write == to compare. At character 3"),
        ("1 & 2", "'&' is an unknown operator; write and. At character 3"),
        ("2 ^ 2", "'^' is an unknown operator; write ** for a power."),
        ("1 // 2", "'//' is an unknown operator; write floor(a / b)."),
        ("'now'", "is an unknown character. At character 1"),
    ];
    for (formula, expected) in cases {
        let message = message(formula);
        assert!(message.contains(expected), "{formula}: {message}");
    }
}

/// Nesting that would exhaust the stack of the thread or of the evaluation is an error.
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
    assert_eq!(evaluate(&wide, &ORDERS), Ok(100_001.0));
    let shallow = "(".repeat(40) + "1" + &")".repeat(40);
    assert_eq!(evaluate(&shallow, &ORDERS), Ok(1.0));
}
