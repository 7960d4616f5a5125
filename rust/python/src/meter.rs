//! The power meter for observers and policies.
use batchlab_kernel::record::{PowerMeter as Meter, PowerModel, PricedKind, Spent, ThermalModel};
use batchlab_kernel::state::View as KernelView;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::arguments::{GivenJob, Node};
use crate::errors::decision_error;
use crate::handles::View;
use crate::placements::placement_of;

/// The power model of one kind of node.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Kind {
    idle: f64,
    busy: f64,
    drained: f64,
    per_unit: Vec<f64>,
    asleep: Vec<f64>,
}

impl From<Kind> for PowerModel {
    fn from(Kind { idle, busy, drained, per_unit, asleep }: Kind) -> Self {
        Self { idle, busy, drained, per_unit, asleep }
    }
}

/// Return the watts of a node in each mode, without those of the units that jobs hold: idle, busy, drained, and each
/// power state other than on.
#[pyfunction]
pub fn watts_by_mode(draw: Kind) -> Vec<f64> {
    PowerModel::from(draw).watts_by_mode()
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Warms {
    resistance: f64,
    capacity: f64,
    ambient: f64,
    initial: f64,
}

/// Times, and values from each of them on.
type Steps<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Reads the meter of the simulation of a view.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct PowerMeter {
    view: Py<View>,
}

impl PowerMeter {
    /// Calls `read` with the meter of the simulation; raises an error if the power is not measured.
    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(KernelView<'_>, &Meter) -> R) -> PyResult<R> {
        let simulation = self.view.get().simulation(py)?;
        match &simulation.kernel.recorders().power {
            Some(meter) => Ok(read(simulation.kernel.view(), meter)),
            None => Err(decision_error(py, "the power of the nodes is not measured; observe it first.")),
        }
    }
}

#[pymethods]
impl PowerMeter {
    #[new]
    fn new(view: Py<View>) -> Self {
        Self { view }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Py<View>,)) {
        (py.get_type::<Self>(), (self.view.clone_ref(py),))
    }

    /// Measure power from now on. `kinds` is the index of each node's kind in `draws`, which contains the power of a
    /// kind at each of its `rates`; or one entry, and no rates, if the rates do not matter.
    fn measure(
        &self,
        py: Python<'_>,
        kinds: PyReadonlyArray1<'_, u32>,
        draws: Vec<Vec<Kind>>,
        rates: Vec<Vec<f64>>,
    ) -> PyResult<()> {
        let priced = draws.into_iter().zip(rates).map(|(draws, rates)| PricedKind {
            rates,
            models: draws.into_iter().map(PowerModel::from).collect(),
        });
        let kinds: Vec<u32> = kinds.as_array().iter().copied().collect();
        let done = self.view.get().simulation_mut(py)?.kernel.measure_power(&kinds, priced.collect());
        done.map_err(|refusal| decision_error(py, &format!("the power cannot be measured: {refusal}.")))
    }

    /// Return the rates at which a node may be served by its control; 1 if it has none.
    fn rates_of(&self, py: Python<'_>, node: Node) -> PyResult<Vec<f64>> {
        let node = self.view.get().check_node(py, node)?;
        let simulation = self.view.get().simulation(py)?;
        let service = &simulation.kernel.view().scenario.service;
        Ok(service.as_ref().map_or(vec![1.0], |service| service.rates_of(node)))
    }

    /// Also compute temperatures of the nodes: one entry per kind of node.
    fn measure_temperature(&self, py: Python<'_>, warms: Vec<Warms>) -> PyResult<()> {
        let initial: Vec<f64> = warms.iter().map(|warms| warms.initial).collect();
        let warming = warms
            .into_iter()
            .map(|Warms { resistance, capacity, ambient, .. }| ThermalModel { resistance, capacity, ambient })
            .collect();
        let mut simulation = self.view.get().simulation_mut(py)?;
        let done = simulation.kernel.measure_temperature(warming, &initial);
        done.map_err(|refusal| decision_error(py, &format!("no temperature can be computed: {refusal}.")))
    }

    /// Current power of all nodes, watts.
    #[getter]
    fn power(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, |_, meter| meter.power())
    }

    /// Return the power of all nodes after the start of a job, watts; None if it does not fit.
    #[pyo3(signature = (job, nodes=None))]
    fn power_with(
        &self,
        py: Python<'_>,
        job: GivenJob<'_>,
        nodes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<f64>> {
        let Some(placement) = placement_of(self.view.bind(py), &job, nodes)? else { return Ok(None) };
        let power = |view: KernelView<'_>, meter: &Meter| meter.power_with(view, job.slot, &placement);
        self.read(py, power).map(Some)
    }

    /// Energy of all nodes so far, joules.
    #[getter]
    fn energy(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, |view, meter| meter.energy(view.integrated_until()))
    }

    /// Current power of each node, watts.
    #[getter]
    fn node_power<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.read(py, |_, meter| meter.node_power())?.into_pyarray(py))
    }

    /// Energy of each node so far, joules.
    #[getter]
    fn node_energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.read(py, |view, meter| meter.node_energy(view.integrated_until()))?.into_pyarray(py))
    }

    /// Energy (joules) and time (seconds, summed over nodes) of the nodes of each kind so far: idle, busy, drained, and
    /// in each of the power states other than on.
    #[getter]
    fn spent(&self, py: Python<'_>) -> PyResult<Vec<Vec<(f64, f64)>>> {
        let spent = self.read(py, |view, meter| meter.spent(view.integrated_until()))?;
        let pairs = |modes: Vec<Spent>| modes.iter().map(|each| (each.energy, each.seconds)).collect();
        Ok(spent.into_iter().map(pairs).collect())
    }

    /// Energy of each job so far, joules.
    #[getter]
    fn job_energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.read(py, |_, _| ())?;
        let simulation = self.view.get().simulation(py)?;
        let view = simulation.kernel.view();
        let energy = |job| simulation.kernel.recorders().energy_of(view, job);
        Ok((0..view.state.jobs.len() as u32).map(energy).collect::<Vec<f64>>().into_pyarray(py))
    }

    /// Temperature of each node now and its maximum so far, degrees Celsius; empty if not computed.
    #[getter]
    fn temperatures<'py>(&self, py: Python<'py>) -> PyResult<Steps<'py>> {
        let (now, most) = self.read(py, |view, meter| meter.temperatures(view.integrated_until()))?;
        Ok((now.into_pyarray(py), most.into_pyarray(py)))
    }

    /// The power as a step function: times, and watts from each time on; the last time is now.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Steps<'py>> {
        let (times, powers) = self.read(py, |view, meter| meter.steps(view.integrated_until()))?;
        Ok((times.into_pyarray(py), powers.into_pyarray(py)))
    }
}
