//! Network models, as Python names them.
use batchlab_kernel::sharing::{MODELS, Network};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The name of a model, and the parameters that are not its own, by name. Python has checked them.
pub type NetworkPart = (String, Vec<(String, f64)>);

/// The model with its parameters.
pub fn network((name, changed): NetworkPart) -> PyResult<Network> {
    let unknown = |what: &str, name: &str| PyValueError::new_err(format!("no {what} is called {name:?}"));
    let model = Network::named(&name).ok_or_else(|| unknown("network model", &name))?;
    changed.into_iter().try_fold(model, |model, (name, value)| {
        model.with(&name, value).ok_or_else(|| unknown("parameter", &name))
    })
}

/// What there is: for each model its name, what it is, whether it knows parallel tasks, and which parameters it takes.
type Description = (&'static str, &'static str, bool, Vec<&'static str>);

/// The network models in their order.
#[pyfunction]
pub fn network_models() -> Vec<Description> {
    MODELS
        .iter()
        .map(|model| (model.name, model.about, model.knows_tasks, model.parameters.to_vec()))
        .collect()
}
