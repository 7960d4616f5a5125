//! Controls of service rates written in Python: their arguments and results.
use batchlab_kernel::control::KeyEvent;
use batchlab_kernel::decision::Decision;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::policy_error;
use crate::simulation::{Simulation, changed, looked_at};

/// The observations for a control outside the kernel.
fn load<'py>(
    py: Python<'py>,
    simulation: &Bound<'py, Simulation>,
    control: u32,
    event: KeyEvent,
) -> PyResult<Bound<'py, PyDict>> {
    let simulation = looked_at(simulation)?;
    let view = simulation.kernel.view();
    let result = PyDict::new(py);
    let name = KeyEvent::NAMES.iter().find(|(_, named)| *named == event).map_or("", |(name, _)| *name);
    result.set_item("event", name)?;
    result.set_item("now", view.now())?;
    if let Some(service) = &view.state.service {
        let [workload, weighted] = service.workload_at(view.now(), &view.state.work);
        result.set_item("present", service.present())?;
        result.set_item("served", service.served())?;
        result.set_item("workload", workload)?;
        result.set_item("weighted_workload", weighted)?;
        result.set_item("rate", service.rate(control))?;
    }
    Ok(result)
}

/// Calls a control outside the kernel: `control(number, load)` returns a rate, or None to keep the current one.
pub fn ask(
    simulation: &Bound<'_, Simulation>,
    hook: &Py<PyAny>,
    control: u32,
    event: KeyEvent,
) -> PyResult<()> {
    let py = simulation.py();
    let seen = load(py, simulation, control, event)?;
    let answer = hook.call1(py, (control, seen))?;
    if answer.is_none(py) {
        return Ok(());
    }
    let Ok(rate) = answer.extract::<f64>(py) else {
        let shown = answer.bind(py).repr()?;
        return Err(policy_error(py, &format!("control {control} gave {shown}; must give a rate, or None.")));
    };
    let done = changed(simulation)?.decide(simulation.py(), Decision::SetServiceRate { control, rate })?;
    done.map(drop).map_err(|refusal| policy_error(py, &format!("control {control}: {refusal}.")))
}
