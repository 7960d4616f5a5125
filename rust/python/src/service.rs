//! The service rates of nodes, converted from Python, and their records.
use batchlab_kernel::control::{ControlRule, RateControl, Service, rule};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::parameter::{Arguments, values_of};

/// A control: its ladder, and its rule with its parameters; `external` for a rule outside the kernel.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ControlInput {
    rates: Vec<f64>,
    first: usize,
    rule: String,
    parameters: Arguments,
}

impl ControlInput {
    fn control(self) -> PyResult<RateControl> {
        let Self { rates, first, rule: name, parameters } = self;
        let wrong = || PyValueError::new_err("a control of rates is not sound");
        let ascends = rates.windows(2).all(|pair| pair[0] < pair[1]);
        let steps = rates.len().checked_sub(1).ok_or_else(wrong)?;
        if !(ascends && rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0) && first <= steps) {
            return Err(wrong());
        }
        let rule = match name.as_str() {
            "external" => ControlRule::External,
            name => rule(name, &values_of(parameters)).map_err(PyValueError::new_err)?,
        };
        if !rule.fits(steps) {
            return Err(wrong());
        }
        Ok(RateControl { rates, first, rule })
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
    pub fn service(self, nodes: usize) -> PyResult<Service> {
        let is_sound = |column: &PyReadonlyArray1<'_, u32>| {
            column.len() == nodes
                && column.as_array().iter().all(|&control| control as usize <= self.controls.len())
        };
        if self.controls.is_empty() || !self.control_of_node.as_ref().is_none_or(is_sound) {
            return Err(PyValueError::new_err("the controls of rates do not fit the nodes"));
        }
        Ok(Service {
            controls: self.controls.into_iter().map(ControlInput::control).collect::<PyResult<_>>()?,
            control_of_node: self
                .control_of_node
                .as_ref()
                .map_or(Vec::new(), |column| column.as_array().to_vec()),
            processors: self.processors.clone(),
        })
    }
}
