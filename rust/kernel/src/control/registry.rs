//! The controls by name, with their parameters and sources, and how each rule is built.
use crate::parameter::{Parameter, Value, above_0, parameters};

use super::governor::{Ondemand, Schedutil};
use super::{ControlRule, Count, Governor, GovernorKind, Randomised, Workload};

/// The values of parameters by name.
pub type Given = [(String, Value)];

/// Registry entry of a control.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// The publication.
    pub source: &'static str,
    /// Its parameters, without the ladder and the groups that all have.
    pub parameters: fn() -> Vec<Parameter>,
    /// Builds the rule; an error if a parameter is unknown or has another type.
    pub build: fn(&Given) -> Result<ControlRule, String>,
}

parameters! {
    /// The parameters of `constant`: its ladder has one rate.
    pub struct Constant {
        /// Units of work per second.
        value: f64 = 1.0, above_0("").positional();
    }
}

const RUMYANTSEV: &str = "A. Rumyantsev, T. Morozova, R. Basmadjian: Discrete-event modeling of a high-performance \
                          computing cluster with service rate control. FRUCT 2018";
const PALLIPADI: &str = "V. Pallipadi, A. Starikovskiy: The ondemand governor. Linux Symposium 2006";
const LINUX: &str = "Linux kernel: Documentation/scheduler/schedutil.rst";

/// All controls of the kernel.
pub const CONTROLS: [Entry; 8] = [
    Entry {
        name: "constant",
        summary: "a constant rate",
        source: RUMYANTSEV,
        parameters: Constant::table,
        build: |given| read(given, Constant::set).map(|_| ControlRule::Constant),
    },
    Entry {
        name: "random",
        summary: "a step up at an arrival, and down at a departure, each with a probability",
        source: RUMYANTSEV,
        parameters: Randomised::table,
        build: |given| read(given, Randomised::set).map(ControlRule::Randomised),
    },
    Entry {
        name: "count",
        summary: "by the number of jobs that wait or run",
        source: RUMYANTSEV,
        parameters: Count::table,
        build: |given| read(given, Count::set).map(ControlRule::Count),
    },
    Entry {
        name: "workload",
        summary: "by the workload, the remaining work of the present jobs",
        source: RUMYANTSEV,
        parameters: Workload::table,
        build: |given| read(given, Workload::set).map(ControlRule::Workload),
    },
    Entry {
        name: "performance",
        summary: "always the highest rate",
        source: "",
        parameters: Vec::new,
        build: |given| nothing(given).map(|()| ControlRule::Constant),
    },
    Entry {
        name: "powersave",
        summary: "always the lowest rate",
        source: "",
        parameters: Vec::new,
        build: |given| nothing(given).map(|()| ControlRule::Constant),
    },
    Entry {
        name: "ondemand",
        summary: "the highest rate above a threshold of the load, otherwise in proportion to the load",
        source: PALLIPADI,
        parameters: Ondemand::table,
        build: |given| {
            let Ondemand { threshold, interval } = read(given, Ondemand::set)?;
            Ok(ControlRule::Governor(Governor { kind: GovernorKind::Ondemand { threshold }, interval }))
        },
    },
    Entry {
        name: "schedutil",
        summary: "1.25 times the highest rate times an average of the utilisation, rounded up to a rate",
        source: LINUX,
        parameters: Schedutil::table,
        build: |given| {
            let Schedutil { window, interval } = read(given, Schedutil::set)?;
            Ok(ControlRule::Governor(Governor { kind: GovernorKind::Schedutil { window }, interval }))
        },
    },
];

fn nothing(given: &Given) -> Result<(), String> {
    given.first().map_or(Ok(()), |(name, _)| Err(format!("there is no parameter {name}")))
}

fn read<T: Default>(given: &Given, set: fn(&mut T, &str, &Value) -> Result<(), String>) -> Result<T, String> {
    let mut found = T::default();
    for (name, value) in given {
        set(&mut found, name, value)?;
    }
    Ok(found)
}

/// Builds the rule of a control by name. An error if the name or a parameter is unknown, or a value has another type.
pub fn rule(name: &str, given: &Given) -> Result<ControlRule, String> {
    let entry = CONTROLS.iter().find(|entry| entry.name == name);
    entry.map_or_else(|| Err(format!("there is no control {name}")), |entry| (entry.build)(given))
}
