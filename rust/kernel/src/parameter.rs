//! Parameters of rules: one table per rule, from which specs, checks, documentation and the binding are derived.
//!
//! `parameters!` declares a struct and its table at once, so that a parameter has one line.
use std::ops::RangeInclusive;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: the default depends on other parameters or on the run.
    None,
    /// True or false.
    Switch(bool),
    /// An integer.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A name.
    Word(String),
    /// Numbers.
    Numbers(Vec<f64>),
    /// A seed.
    Seed(u64),
}

/// Which values a parameter has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// True or false.
    Switch,
    /// Integers from the first to the second.
    Whole(i64, i64),
    /// Seconds from the first up to the second, which is excluded.
    Seconds(f64, f64),
    /// Numbers from the first to the second.
    UpTo(f64, f64),
    /// Seconds from 0 up to the value of another parameter, which is excluded.
    SecondsBelow(&'static str),
    /// One of these names.
    Word(&'static [&'static str]),
    /// Text in a language of its own, which the text of the parameter describes.
    Text,
    /// Numbers above 0 up to the second; finite if there is none. The first is the unit.
    Above0(&'static str, Option<f64>),
    /// A number, or several.
    Numbers,
    /// A seed of random numbers.
    Seed,
}

/// A parameter of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name in spec strings.
    pub name: &'static str,
    /// Which values it has.
    pub kind: Kind,
    /// The default.
    pub usual: Value,
    /// What happens by default, if the default is no value.
    pub usual_text: &'static str,
    /// The parameter and the value of it that this one requires.
    pub requires: Option<(&'static str, &'static str)>,
    /// True if specs give its value without its name.
    pub is_positional: bool,
    /// Description in one line.
    pub text: &'static str,
    /// The source, if it differs from that of the rule.
    pub source: &'static str,
}

impl Parameter {
    const fn of(kind: Kind) -> Self {
        let usual = Value::None;
        Self {
            name: "",
            kind,
            usual,
            usual_text: "",
            requires: None,
            is_positional: false,
            text: "",
            source: "",
        }
    }

    /// Complete a line of a table.
    #[must_use]
    pub fn named(self, name: &'static str, text: &'static str, usual: Value) -> Self {
        Self { name, text: text.trim_start(), usual, ..self }
    }

    /// Mark it as given without its name in specs.
    #[must_use]
    pub fn positional(self) -> Self {
        Self { is_positional: true, ..self }
    }

    /// Set what happens by default.
    #[must_use]
    pub fn by_default(self, usual_text: &'static str) -> Self {
        Self { usual_text, ..self }
    }

    /// Set the value of another parameter that this one requires.
    #[must_use]
    pub fn requires(self, name: &'static str, value: &'static str) -> Self {
        Self { requires: Some((name, value)), ..self }
    }

    /// Set the source.
    #[must_use]
    pub fn defined_by(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

/// Create a line for true or false.
#[must_use]
pub const fn switch() -> Parameter {
    Parameter::of(Kind::Switch)
}

/// Create a line for integers in a range.
#[must_use]
pub const fn whole(range: RangeInclusive<i64>) -> Parameter {
    Parameter::of(Kind::Whole(*range.start(), *range.end()))
}

/// Create a line for seconds from 0 up to an end, which is excluded.
#[must_use]
pub const fn seconds_below(end: f64) -> Parameter {
    Parameter::of(Kind::Seconds(0.0, end))
}

/// Create a line for numbers from 0 to 2^53.
#[must_use]
pub const fn up_to_2_53() -> Parameter {
    Parameter::of(Kind::UpTo(0.0, 9_007_199_254_740_992.0))
}

/// Create a line for a probability.
#[must_use]
pub const fn probability() -> Parameter {
    Parameter::of(Kind::UpTo(0.0, 1.0))
}

/// Create a line for finite numbers above 0, with their unit.
#[must_use]
pub const fn above_0(unit: &'static str) -> Parameter {
    Parameter::of(Kind::Above0(unit, None))
}

/// Create a line for numbers above 0 up to a bound, with their unit.
#[must_use]
pub const fn above_0_to(most: f64, unit: &'static str) -> Parameter {
    Parameter::of(Kind::Above0(unit, Some(most)))
}

/// Create a line for a number, or several.
#[must_use]
pub const fn numbers() -> Parameter {
    Parameter::of(Kind::Numbers)
}

/// Create a line for a seed.
#[must_use]
pub const fn seed() -> Parameter {
    Parameter::of(Kind::Seed)
}

/// Create a line for seconds from 0 up to the value of another parameter.
#[must_use]
pub const fn seconds_below_parameter(name: &'static str) -> Parameter {
    Parameter::of(Kind::SecondsBelow(name))
}

/// Create a line for one of these names.
#[must_use]
pub const fn word(names: &'static [&'static str]) -> Parameter {
    Parameter::of(Kind::Word(names))
}

/// Create a line for text.
#[must_use]
pub const fn text() -> Parameter {
    Parameter::of(Kind::Text)
}

/// A type in which the kernel keeps the value of a parameter.
pub trait Field: Sized {
    /// Convert a value; None if it has another type.
    fn read(value: &Value) -> Option<Self>;

    /// Return the value.
    fn value(&self) -> Value;
}

impl Field for bool {
    fn read(value: &Value) -> Option<Self> {
        if let Value::Switch(value) = value { Some(*value) } else { None }
    }

    fn value(&self) -> Value {
        Value::Switch(*self)
    }
}

impl Field for i64 {
    fn read(value: &Value) -> Option<Self> {
        if let Value::Whole(value) = value { Some(*value) } else { None }
    }

    fn value(&self) -> Value {
        Value::Whole(*self)
    }
}

impl From<&str> for Value {
    fn from(name: &str) -> Self {
        Self::Word(name.into())
    }
}

impl Field for String {
    fn read(value: &Value) -> Option<Self> {
        if let Value::Word(name) = value { Some(name.clone()) } else { None }
    }

    fn value(&self) -> Value {
        self.as_str().into()
    }
}

impl Field for u32 {
    fn read(value: &Value) -> Option<Self> {
        i64::read(value)?.try_into().ok()
    }

    fn value(&self) -> Value {
        Value::Whole((*self).into())
    }
}

impl Field for usize {
    fn read(value: &Value) -> Option<Self> {
        i64::read(value)?.try_into().ok()
    }

    fn value(&self) -> Value {
        Value::Whole(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl Field for f64 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Whole(value) => Some(*value as Self),
            Value::Number(value) => Some(*value),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Number(*self)
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Seed(value) => Some(*value),
            Value::Whole(value) => (*value).try_into().ok(),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Seed(*self)
    }
}

impl Field for Vec<f64> {
    fn read(value: &Value) -> Option<Self> {
        if let Value::Numbers(values) = value { Some(values.clone()) } else { None }
    }

    fn value(&self) -> Value {
        Value::Numbers(self.clone())
    }
}

impl<T: Field> Field for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        if *value == Value::None { Some(None) } else { T::read(value).map(Some) }
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::value)
    }
}

/// Declare the parameters of a rule: a public struct with defaults, its table, and a setter by name.
///
/// Each line is `name: type = default, kind;` after a doc comment, which is also the text of the table.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        pub struct $owner:ident {
            $($(#[doc = $text:literal])+ $name:ident: $type:ty = $usual:expr, $kind:expr;)+
        }
    ) => {
        $(#[$about])*
        pub struct $owner {
            $($(#[doc = $text])+ pub $name: $type,)+
        }

        impl Default for $owner {
            fn default() -> Self {
                Self { $($name: $usual,)+ }
            }
        }

        impl $owner {
            /// Return the table of the parameters.
            #[must_use]
            pub fn table() -> Vec<$crate::parameter::Parameter> {
                let usual = Self::default();
                vec![$({
                    let value = $crate::parameter::Field::value(&usual.$name);
                    $kind.named(stringify!($name), concat!($($text),+), value)
                },)+]
            }

            /// Set a parameter by name. An error if the name is unknown, or the value has another type.
            pub fn set(&mut self, name: &str, value: &$crate::parameter::Value) -> Result<(), String> {
                let known = match name {
                    $(stringify!($name) => {
                        $crate::parameter::Field::read(value).map(|value| self.$name = value)
                    })+
                    _ => return Err(format!("there is no parameter {name}")),
                };
                known.ok_or_else(|| format!("{name} = {value:?} has another type"))
            }
        }
    };
}

pub(crate) use parameters;
