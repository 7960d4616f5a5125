//! Tests of the language of performance models.
use super::{MODELS, evaluate, parse};

#[track_caller]
fn all_give(cases: &[(&str, f64)]) {
    for &(text, expected) in cases {
        let value = evaluate(text, &MODELS);
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
        ("x tasks", 24.0),
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
    assert!(evaluate("0 / 0", &MODELS).is_ok_and(f64::is_nan));
    assert!(evaluate("5 % 0 + sqrt(-1)", &MODELS).is_ok_and(f64::is_nan));
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
        ("a.b / c.0", 0, "no name 'a.b'."),
        ("squrt(2)", 0, "no function named 'squrt'. Did you mean 'sqrt'? Known: abs, acos,"),
        ("min()", 0, "min() has 0 values; it needs at least 1 value."),
        ("pow(2)", 0, "pow() has 1 values; it needs 2 values."),
        ("1 + log", 4, "the function 'log' needs its values: write log(…)."),
        ("if(1, 2)", 0, "if() has 2 values; it needs 3 values."),
        ("not 1", 0, "the function 'not' needs its values: write not(…)."),
        ("1 ? 2", 5, "':' must stand here, not the end; write: condition ? value : other value."),
        ("2 ** 3", 2, "'**' is an unknown operator; write ^ for a power."),
        ("x := 3", 2, "':=' is an unknown operator; formulas assign nothing; compare with ==."),
        ("1; 2", 1, "';' is an unknown operator; a formula is one expression;"),
        ("while (1) 2", 0, "no function named 'while'."),
        ("2 § 3", 2, "'§' is an unknown character."),
        ("1.2.3", 0, "'1.2.' is not a number; it has two points."),
        ("1e999", 0, "'1e999' is too large for a number."),
        ("'abc", 0, "this text does not end; close it with '."),
        ("x + äöü + net", 4, "no name 'äöü'."),
        ("2 + net", 2, "a text, 'resnet50', meets a number, 2; both must be of one kind."),
        ("net + net", 4, "'resnet50' and 'resnet50' are texts; texts can only be compared."),
        ("net", 0, "'resnet50' is a text; texts can only be compared."),
        ("2 in 3", 2, "numbers, 2 and 3, where texts must be."),
    ] {
        let Err(error) = evaluate(text, &MODELS) else { panic!("{text} is a formula") };
        assert!(error.message.starts_with(message), "{text}: {}", error.message);
        assert_eq!(error.position, position, "{text}");
    }
}

#[test]
fn deep_and_long_formulas_do_no_harm() {
    for nested in ["(", "-", "2^", "1?", "min(", "1 ? 2 : ", "{["] {
        let error = parse(&nested.repeat(100_000), &MODELS).unwrap_err();
        assert!(error.message.contains("nests deeper than 200"), "{nested}: {}", error.message);
    }
    assert_eq!(evaluate(&vec!["1"; 100_000].join(" + "), &MODELS), Ok(100_000.0));
    assert_eq!(evaluate(&format!("sum({})", vec!["1"; 100_000].join(",")), &MODELS), Ok(100_000.0));
    let pattern = format!("'{}b' like '{}'", "a".repeat(2_000), "*a".repeat(1_000));
    assert_eq!(evaluate(&pattern, &MODELS), Ok(0.0));
}
