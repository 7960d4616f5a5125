//! Initial states: columns in, columns out.
use batchlab_kernel::cluster::NodeTasks;
use batchlab_kernel::scheduler::{BackfillState, ControllerState, KnownJob, MainState, PlannedStart};
use batchlab_kernel::simulation::{InitialFault, InitialJob, InitialState, InitialUsage};
use batchlab_kernel::workload::{JobState, Rejection};
use numpy::{IntoPyArray, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A node of the tree of accounts: its index, usage, time, rate and factor.
type UsageRow = (u32, f64, f64, f64, f64);

/// The state in which a run begins. Times in seconds; NaN if there is none.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct InitialColumns<'py> {
    time: f64,
    decided: bool,
    /// Rows of the workload, each once.
    row: PyReadonlyArray1<'py, u32>,
    /// Numbers of states.
    state: PyReadonlyArray1<'py, u8>,
    held: PyReadonlyArray1<'py, bool>,
    start_time: PyReadonlyArray1<'py, f64>,
    end_time: PyReadonlyArray1<'py, f64>,
    /// Numbers of reasons; 0 if it was not rejected.
    reason: PyReadonlyArray1<'py, u8>,
    saved: PyReadonlyArray1<'py, f64>,
    eligible_time: PyReadonlyArray1<'py, f64>,
    estimate: PyReadonlyArray1<'py, f64>,
    requested_time: PyReadonlyArray1<'py, f64>,
    priority: PyReadonlyArray1<'py, f64>,
    reserved_time: PyReadonlyArray1<'py, f64>,
    nodes: NodeColumns<'py>,
    reserved_nodes: NodeColumns<'py>,
    last_node: Option<u32>,
    drained: Option<Vec<u32>>,
    usage: Vec<UsageRow>,
    controller: Option<ControllerColumns>,
}

/// Declares a dictionary of Python with the fields of a struct of the kernel, and the conversions between them.
macro_rules! mirrored {
    ($columns:ident of $state:ident { $($(#[$key:meta])? $field:ident: $kind:ty),+ $(,)? }) => {
        #[derive(FromPyObject, IntoPyObject)]
        #[pyo3(from_item_all)]
        struct $columns { $($(#[$key])? $field: $kind),+ }

        impl From<&$columns> for $state {
            fn from(&$columns { $($field),+ }: &$columns) -> Self {
                Self { $($field),+ }
            }
        }

        impl From<&$state> for $columns {
            fn from(&$state { $($field),+ }: &$state) -> Self {
                Self { $($field),+ }
            }
        }
    };
}

mirrored! {
    MainColumns of MainState {
        phase: f64,
        called: Option<f64>,
        called_for_all: Option<f64>,
        wanted: bool,
        may_differ: bool,
        met_no_room: bool,
        loop_called: Option<f64>,
        put_off: Option<bool>,
    }
}

mirrored! {
    BackfillColumns of BackfillState {
        ended: Option<f64>,
        wakes: f64,
        changed: Option<f64>,
        may_differ: bool,
        holds_until: Option<f64>,
        goes_on: bool,
        length: f64,
        rests: bool,
    }
}

mirrored! {
    KnownRow of KnownJob {
        #[pyo3(item("row"))]
        job: u32,
        entered: Option<f64>,
        again: Option<f64>,
        victims: Option<f64>,
        uncalled: bool,
        called: Option<f64>,
        ages_from: Option<f64>,
        over_time_limit: Option<f64>,
    }
}

/// What Slurm's controller remembers. Times in seconds; None: never.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct ControllerColumns {
    main: MainColumns,
    backfill: Option<BackfillColumns>,
    weights: Vec<u32>,
    jobs: Vec<KnownRow>,
    arrays: Vec<(u32, f64)>,
}

impl From<&ControllerColumns> for ControllerState {
    fn from(given: &ControllerColumns) -> Self {
        Self {
            main: (&given.main).into(),
            backfill: given.backfill.as_ref().map(Into::into),
            weights: given.weights.clone(),
            jobs: given.jobs.iter().map(Into::into).collect(),
            arrays: given.arrays.clone(),
        }
    }
}

impl From<&ControllerState> for ControllerColumns {
    fn from(state: &ControllerState) -> Self {
        Self {
            main: (&state.main).into(),
            backfill: state.backfill.as_ref().map(Into::into),
            weights: state.weights.clone(),
            jobs: state.jobs.iter().map(Into::into).collect(),
            arrays: state.arrays.clone(),
        }
    }
}

/// Nodes of jobs: where those of each job begin, and the number of tasks on each node.
#[derive(FromPyObject)]
struct NodeColumns<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>);

impl NodeColumns<'_> {
    /// The nodes of a job; None if the columns are too short.
    fn of(&self, at: usize) -> Option<Vec<NodeTasks>> {
        let offset = |at: usize| usize::try_from(*self.0.as_array().get(at)?).ok();
        let range = offset(at)?..offset(at + 1)?;
        let (nodes, tasks) = (self.1.as_array(), self.2.as_array());
        range.map(|at| Some(NodeTasks { node: *nodes.get(at)?, tasks: *tasks.get(at)? })).collect()
    }
}

impl InitialColumns<'_> {
    /// The state for these numbers of jobs and nodes. Python has raised errors with more context before.
    pub fn state(&self, jobs: usize, nodes: u32) -> PyResult<InitialState> {
        let described: Option<Vec<InitialJob>> = (0..self.row.len()).map(|at| self.job(at)).collect();
        let is_node = |part: &NodeTasks| part.node < nodes;
        let is_sound = |each: &InitialJob| {
            let reserved = each.reservation.as_ref().map_or(&[][..], |planned| &planned.placement);
            (each.job as usize) < jobs && each.placement.iter().chain(reserved).all(is_node)
        };
        let described = described.filter(|described| described.iter().all(is_sound));
        let controller = self.controller.as_ref().map(ControllerState::from);
        let is_known = |each: &KnownJob| (each.job as usize) < jobs;
        let knows = controller.iter().flat_map(|controller| &controller.jobs).all(is_known);
        let described = described.filter(|_| knows);
        let drained = self.drained.clone().filter(|drained| drained.is_sorted());
        let (Some(described), true) = (described, self.time.is_finite()) else {
            return Err(PyValueError::new_err("the columns of the initial state do not fit the run"));
        };
        let usage = self.usage.iter().map(|&(node, value, time, rate, factor)| InitialUsage {
            node,
            value,
            time,
            rate,
            factor,
        });
        let usage = usage.collect();
        let (time, decided) = (self.time, self.decided);
        let last_node = self.last_node.filter(|&node| node < nodes);
        Ok(InitialState { time, decided, jobs: described, last_node, drained, usage, controller })
    }

    fn job(&self, at: usize) -> Option<InitialJob> {
        let number = |column: &PyReadonlyArray1<'_, f64>| column.as_array().get(at).copied();
        let state = *self.state.as_array().get(at)?;
        let reason = *self.reason.as_array().get(at)?;
        let reserved = number(&self.reserved_time)?;
        let planned = PlannedStart { start: reserved, placement: self.reserved_nodes.of(at)? };
        Some(InitialJob {
            job: *self.row.as_array().get(at)?,
            state: JobState::ALL.into_iter().find(|each| *each as u8 == state)?,
            held: *self.held.as_array().get(at)?,
            start_time: number(&self.start_time)?,
            end_time: number(&self.end_time)?,
            placement: self.nodes.of(at)?,
            rejection: Rejection::ALL.into_iter().find(|each| *each as u8 == reason),
            saved: number(&self.saved)?,
            eligible_time: number(&self.eligible_time)?,
            estimate: number(&self.estimate)?,
            requested_time: number(&self.requested_time)?,
            priority: number(&self.priority)?,
            reservation: (!reserved.is_nan()).then_some(planned),
        })
    }
}

/// A number of a job.
type NumberOf = fn(&InitialJob) -> f64;

/// Converts a state to columns.
pub fn columns<'py>(py: Python<'py>, state: &InitialState) -> PyResult<Bound<'py, PyDict>> {
    let jobs = &state.jobs;
    let result = PyDict::new(py);
    result.set_item("time", state.time)?;
    result.set_item("decided", state.decided)?;
    let rows: Vec<u32> = jobs.iter().map(|each| each.job).collect();
    result.set_item("row", rows.into_pyarray(py))?;
    let states: Vec<u8> = jobs.iter().map(|each| each.state as u8).collect();
    result.set_item("state", states.into_pyarray(py))?;
    let held: Vec<bool> = jobs.iter().map(|each| each.held).collect();
    result.set_item("held", held.into_pyarray(py))?;
    let reasons: Vec<u8> = jobs.iter().map(|each| each.rejection.map_or(0, |reason| reason as u8)).collect();
    result.set_item("reason", reasons.into_pyarray(py))?;
    let numbers: [(&str, NumberOf); 8] = [
        ("start_time", |each| each.start_time),
        ("end_time", |each| each.end_time),
        ("saved", |each| each.saved),
        ("eligible_time", |each| each.eligible_time),
        ("estimate", |each| each.estimate),
        ("requested_time", |each| each.requested_time),
        ("priority", |each| each.priority),
        ("reserved_time", |each| each.reservation.as_ref().map_or(f64::NAN, |planned| planned.start)),
    ];
    for (name, value) in numbers {
        let column: Vec<f64> = jobs.iter().map(value).collect();
        result.set_item(name, column.into_pyarray(py))?;
    }
    let reserved = |each: &InitialJob| {
        each.reservation.as_ref().map(|planned| planned.placement.clone()).unwrap_or_default()
    };
    result.set_item("nodes", node_columns(py, jobs.iter().map(|each| each.placement.clone()))?)?;
    result.set_item("reserved_nodes", node_columns(py, jobs.iter().map(reserved))?)?;
    result.set_item("last_node", state.last_node)?;
    result.set_item("drained", state.drained.clone())?;
    let usage = state.usage.iter().map(|each| (each.node, each.value, each.time, each.rate, each.factor));
    result.set_item("usage", usage.collect::<Vec<UsageRow>>())?;
    result.set_item("controller", state.controller.as_ref().map(ControllerColumns::from))?;
    Ok(result)
}

fn node_columns(
    py: Python<'_>,
    placements: impl Iterator<Item = Vec<NodeTasks>>,
) -> PyResult<Bound<'_, PyAny>> {
    let (mut offsets, mut nodes, mut tasks) = (vec![0_i64], Vec::new(), Vec::new());
    for placement in placements {
        nodes.extend(placement.iter().map(|part| part.node));
        tasks.extend(placement.iter().map(|part| part.tasks));
        offsets.push(nodes.len() as i64);
    }
    (offsets.into_pyarray(py), nodes.into_pyarray(py), tasks.into_pyarray(py)).into_bound_py_any(py)
}

/// Creates the error of a state: its arguments are the row of the job, or None, and the rule.
pub fn refused(fault: InitialFault) -> PyErr {
    PyValueError::new_err((fault.row, fault.reason))
}
