//! Tests of the meaning of names for a job, and of counts.
use std::collections::BTreeMap;

use super::{Formula, FormulaError};
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

#[test]
fn names_mean_the_job() {
    for (text, expected) in [
        ("num_nodes * 100 + num_gpus_per_node * 10 + num_gpus", 428.0),
        ("phase_iteration + num_nodes_min + num_nodes_max", 22.0),
        ("late", 2.0),
        ("a.b + x", 11.0),
        ("min(epsilon, INF)", 1e-10),
        ("k + (net like 'res*' ? Pi : 0)", std::f64::consts::PI - 2.0),
    ] {
        assert_eq!(evaluate(text), Ok(expected), "{text}");
    }
}

#[test]
fn errors_name_what_is_known() {
    for (text, position, message) in [
        ("flops / num_node", 0, "no name or job argument named 'flops'. Known: a.b, k, late,"),
        (
            "1 / num_node",
            4,
            "no name or job argument named 'num_node'. Did you mean 'num_nodes'? Known: a.b, k,",
        ),
        ("äöü + net", 0, "no name or job argument named 'äöü'."),
        ("1 +", 3, "a number, a name or a bracket must stand here, not the end."),
    ] {
        let Err(error) = evaluate(text) else { panic!("{text} is a formula") };
        assert!(error.message.starts_with(message), "{text}: {}", error.message);
        assert_eq!(error.position, position, "{text}");
    }
    let error = evaluate("1 / num_node").unwrap_err().to_string();
    assert!(error.ends_with("At character 5 of the formula '1 / num_node'."), "{error}");
}

#[test]
fn names_stand_once_in_order() {
    let formula = Formula::parse("x * k + x / net").unwrap();
    assert_eq!(formula.names(), ["x", "k", "net"]);
    assert_eq!((formula.as_number(), Formula::parse("2.5").unwrap().as_number()), (None, Some(2.5)));
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
