//! Network models, by name.
use batchlab_kernel::sharing::{MODELS, Network};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The name of a model, and changed parameters by name, validated by Python.
pub type NetworkPart = (String, Vec<(String, f64)>);

/// Creates the model with its parameters.
pub fn network((name, changed): NetworkPart) -> PyResult<Network> {
    let unknown = |what: &str, name: &str| PyValueError::new_err(format!("no {what} is called {name:?}"));
    let model = Network::named(&name).ok_or_else(|| unknown("network model", &name))?;
    changed.into_iter().try_fold(model, |model, (name, value)| {
        model.with(&name, value).ok_or_else(|| unknown("parameter", &name))
    })
}

/// For each model: its name, its description, whether it supports parallel tasks, and its parameters.
type Description = (&'static str, &'static str, bool, Vec<&'static str>);

/// Return the network models in order.
#[pyfunction]
pub fn network_models() -> Vec<Description> {
    MODELS
        .iter()
        .map(|model| (model.name, model.about, model.knows_tasks, model.parameters.to_vec()))
        .collect()
}
