//! The service rates of nodes, converted from Python, and their records.
use batchlab_kernel::control::{
    ControlRule, Count, Governor, GovernorKind, Randomised, RateControl, Service, Workload,
};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A control: its ladder, and the parameters of its rule; parameters of other rules are empty or 0.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ControlInput {
    rates: Vec<f64>,
    first: usize,
    rule: String,
    low: Vec<f64>,
    high: Vec<f64>,
    weighted: bool,
    printed: bool,
    up: f64,
    down: f64,
    coins: Vec<f64>,
    seed: u64,
    threshold: f64,
    window: f64,
    interval: f64,
}

impl ControlInput {
    fn control(&self) -> PyResult<RateControl> {
        let wrong = || PyValueError::new_err("a control of rates is not sound");
        let ascends = self.rates.windows(2).all(|pair| pair[0] < pair[1]);
        let steps = self.rates.len().checked_sub(1).ok_or_else(wrong)?;
        if !(ascends && self.rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0) && self.first <= steps)
        {
            return Err(wrong());
        }
        let is_stepwise = self.low.len() == steps && self.high.len() == steps;
        let whole = |values: &[f64]| values.iter().map(|&value| value as u64).collect();
        let governor = |kind| ControlRule::Governor(Governor { kind, interval: self.interval });
        let rule = match self.rule.as_str() {
            "constant" => ControlRule::Constant,
            "external" => ControlRule::External,
            "random" => ControlRule::Randomised(Randomised {
                up: self.up,
                down: self.down,
                coins: self.coins.as_slice().into(),
                seed: self.seed,
            }),
            "count" if is_stepwise => {
                ControlRule::Count(Count { low: whole(&self.low), high: whole(&self.high) })
            }
            "workload" if is_stepwise => ControlRule::Workload(Workload {
                low: self.low.clone(),
                high: self.high.clone(),
                weighted: self.weighted,
                printed: self.printed,
            }),
            "ondemand" if self.interval > 0.0 => {
                governor(GovernorKind::Ondemand { threshold: self.threshold })
            }
            "schedutil" if self.interval > 0.0 && self.window > 0.0 => {
                governor(GovernorKind::Schedutil { window: self.window })
            }
            _ => return Err(wrong()),
        };
        Ok(RateControl { rates: self.rates.clone(), first: self.first, rule })
    }
}

/// The controls, and the control of each node.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ServiceInputs<'py> {
    controls: Vec<ControlInput>,
    control_of_node: Option<PyReadonlyArray1<'py, u32>>,
    processors: Vec<f64>,
    /// True if arrivals, departures and switches are recorded.
    pub key_events: bool,
}

impl ServiceInputs<'_> {
    /// Creates the controls for a machine with this number of nodes.
    pub fn service(&self, nodes: usize) -> PyResult<Service> {
        let is_sound = |column: &PyReadonlyArray1<'_, u32>| {
            column.len() == nodes
                && column.as_array().iter().all(|&control| control as usize <= self.controls.len())
        };
        if self.controls.is_empty() || !self.control_of_node.as_ref().is_none_or(is_sound) {
            return Err(PyValueError::new_err("the controls of rates do not fit the nodes"));
        }
        Ok(Service {
            controls: self.controls.iter().map(ControlInput::control).collect::<PyResult<_>>()?,
            control_of_node: self
                .control_of_node
                .as_ref()
                .map_or(Vec::new(), |column| column.as_array().to_vec()),
            processors: self.processors.clone(),
        })
    }
}
