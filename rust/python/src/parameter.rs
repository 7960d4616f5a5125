//! Parameters of rules: their tables as dictionaries, and their values from Python.
use std::collections::BTreeMap;

use batchlab_kernel::parameter::{Kind, Parameter, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The value of a parameter in Python.
#[derive(FromPyObject, IntoPyObject)]
pub enum Argument {
    Switch(bool),
    Whole(i64),
    Seed(u64),
    Number(f64),
    Word(String),
    Numbers(Vec<f64>),
}

/// The values of parameters by name; None where the default depends on other parameters or on the run.
pub type Arguments = BTreeMap<String, Option<Argument>>;

/// Set parameters by name, after checking their names and types.
pub fn set_all(given: Arguments, mut set: impl FnMut(&str, &Value) -> Result<(), String>) -> PyResult<()> {
    for (name, value) in given {
        set(&name, &value_of(value)).map_err(PyValueError::new_err)?;
    }
    Ok(())
}

/// The values of parameters by name.
pub fn values_of(given: Arguments) -> Vec<(String, Value)> {
    given.into_iter().map(|(name, value)| (name, value_of(value))).collect()
}

fn value_of(given: Option<Argument>) -> Value {
    match given {
        None => Value::None,
        Some(Argument::Switch(value)) => Value::Switch(value),
        Some(Argument::Whole(value)) => Value::Whole(value),
        Some(Argument::Number(value)) => Value::Number(value),
        Some(Argument::Word(value)) => Value::Word(value),
        Some(Argument::Numbers(values)) => Value::Numbers(values),
        Some(Argument::Seed(value)) => Value::Seed(value),
    }
}

/// The line of a parameter: the fields of `batchlab.core.declared.Parameter`.
#[derive(IntoPyObject)]
pub struct ParameterRow {
    name: &'static str,
    kind: &'static str,
    usual: Option<Argument>,
    usual_text: &'static str,
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    below_parameter: Option<&'static str>,
    unit: &'static str,
    words: Vec<&'static str>,
    positional: bool,
    requires: Option<(&'static str, &'static str)>,
    text: &'static str,
    source: &'static str,
}

impl From<Parameter> for ParameterRow {
    fn from(parameter: Parameter) -> Self {
        let Parameter { name, kind, usual, usual_text, requires, is_positional, text, source } = parameter;
        let is_whole = matches!(kind, Kind::Whole(..));
        let usual = match usual {
            Value::None => None,
            Value::Switch(value) => Some(Argument::Switch(value)),
            Value::Whole(value) => Some(Argument::Whole(value)),
            // Whole seconds, which the kernel keeps as a number.
            Value::Number(value) if is_whole => Some(Argument::Whole(value as i64)),
            Value::Number(value) => Some(Argument::Number(value)),
            Value::Word(value) => Some(Argument::Word(value)),
            Value::Numbers(values) => (values.len() == 1).then(|| Argument::Number(values[0])),
            Value::Seed(value) => Some(Argument::Seed(value)),
        };
        let row = Self {
            name,
            kind: "",
            usual,
            usual_text,
            least: None,
            most: None,
            above: None,
            below: None,
            below_parameter: None,
            unit: "",
            words: Vec::new(),
            positional: is_positional,
            requires,
            text,
            source,
        };
        match kind {
            Kind::Switch => Self { kind: "switch", ..row },
            Kind::Whole(least, most) => {
                Self { kind: "whole", least: Some(least as f64), most: Some(most as f64), ..row }
            }
            Kind::Seconds(least, below) => Self {
                kind: "number",
                unit: "seconds",
                least: Some(least),
                below: Some(below).filter(|below| below.is_finite()),
                ..row
            },
            Kind::UpTo(least, most) => Self { kind: "number", least: Some(least), most: Some(most), ..row },
            Kind::SecondsBelow(other) => Self {
                kind: "number",
                unit: "seconds",
                least: Some(0.0),
                below_parameter: Some(other),
                ..row
            },
            Kind::Word(words) => Self { kind: "word", words: words.to_vec(), ..row },
            Kind::Text => Self { kind: "text", ..row },
            Kind::Above0(unit, most) => Self { kind: "number", unit, above: Some(0.0), most, ..row },
            Kind::Numbers => Self { kind: "numbers", ..row },
            Kind::Seed => Self { kind: "seed", ..row },
        }
    }
}
