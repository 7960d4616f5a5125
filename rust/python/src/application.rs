//! Applications and the columns of jobs that run them, converted from Python.
use std::collections::BTreeMap;
use std::sync::Arc;

use batchlab_kernel::application as kernel;
use kernel::{
    ApplicationJob, Communication, Direction, Formula as KernelFormula, JobType, Pattern, Payload, Phase,
    RankOrder, Stage, Storage, Task, Traffic, Value, Work,
};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::messages::MessageProgram;
use crate::rounds::RoundProgram;

/// A formula of a performance model, parsed once.
///
/// Parameters
/// ----------
/// formula
///     Its text, in the subset of ExprTk described in docs/applications.md; or a number; or a formula.
///
/// Raises
/// ------
/// ApplicationError
///     If the text is not a formula; the message contains the position and the reason.
///
/// Examples
/// --------
/// >>> import batchlab as bl
/// >>> work = bl.Formula("flops / num_nodes ^ 0.9")
/// >>> work.names
/// ('flops', 'num_nodes')
/// >>> work(flops=8e12, num_nodes=1)
/// 8000000000000.0
#[pyclass(module = "batchlab", frozen, eq, hash, from_py_object)]
#[derive(Clone)]
pub struct Formula {
    pub kernel: Arc<KernelFormula>,
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        match (self.kernel.as_number(), other.kernel.as_number()) {
            (Some(one), Some(other)) => one.to_bits() == other.to_bits(),
            _ => self.kernel.text() == other.kernel.text(),
        }
    }
}

impl std::hash::Hash for Formula {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self.kernel.as_number() {
            Some(number) => number.to_bits().hash(state),
            None => self.kernel.text().hash(state),
        }
    }
}

/// The types that a formula can be created from.
#[derive(FromPyObject)]
enum Source<'py> {
    Formula(PyRef<'py, Formula>),
    Number(f64),
    Text(String),
}

#[pymethods]
impl Formula {
    #[new]
    fn new(py: Python<'_>, formula: Source<'_>) -> PyResult<Self> {
        let kernel = match formula {
            Source::Formula(formula) => return Ok(formula.clone()),
            Source::Number(number) if number.is_nan() => {
                return Err(application_error(py, "formula = nan; must be a number."));
            }
            Source::Number(number) => KernelFormula::number(number),
            Source::Text(text) => {
                KernelFormula::parse(&text).map_err(|error| application_error(py, &error.to_string()))?
            }
        };
        Ok(Self { kernel: Arc::new(kernel) })
    }

    /// The text of the formula.
    #[getter]
    fn text(&self) -> &str {
        self.kernel.text()
    }

    /// The number if the formula is a plain number, otherwise None.
    #[getter]
    fn number(&self) -> Option<f64> {
        self.kernel.as_number()
    }

    /// The distinct names in the formula, in order of appearance.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.kernel.names())
    }

    /// Evaluate the formula with values of its names: numbers, or texts for comparisons.
    #[pyo3(signature = (**names))]
    fn __call__(&self, py: Python<'_>, names: Option<BTreeMap<String, Argument>>) -> PyResult<f64> {
        let names = names.unwrap_or_default().into_iter().map(|(name, value)| (name, value.into())).collect();
        self.kernel.evaluate_for(&names).map_err(|error| application_error(py, &error.to_string()))
    }

    fn __str__(&self) -> &str {
        self.kernel.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match self.kernel.as_number() {
            Some(_) => Ok(format!("Formula({})", self.kernel.text())),
            None => Ok(format!("Formula({})", self.kernel.text().into_pyobject(py)?.repr()?)),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        let this = slf.get();
        let argument = match this.kernel.as_number() {
            Some(number) => number.into_pyobject(slf.py())?.into_any(),
            None => this.kernel.text().into_pyobject(slf.py())?.into_any(),
        };
        Ok((slf.get_type(), (argument,)))
    }
}

/// A job argument of Python.
#[derive(FromPyObject)]
pub enum Argument {
    Number(f64),
    Text(String),
}

impl From<Argument> for Value {
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Number(number) => Self::Number(number),
            Argument::Text(text) => Self::Text(text),
        }
    }
}

/// An application, converted once from `batchlab.Application` for all jobs that run it.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Application {
    pub model: Arc<kernel::Application>,
}

#[pymethods]
impl Application {
    #[new]
    fn new(description: Description) -> Self {
        let Description { on_init, on_reconfiguration, on_expansion, phases } = description;
        let stage = |stage: Option<StageDescription>| stage.map(Stage::from);
        let model = kernel::Application {
            on_init: stage(on_init),
            on_reconfiguration: stage(on_reconfiguration),
            on_expansion: stage(on_expansion),
            phases: phases.into_iter().map(Phase::from).collect(),
        };
        Self { model: Arc::new(model) }
    }
}

// The attributes of the dataclasses in `batchlab.application`, which validate them.

#[derive(FromPyObject)]
struct Description {
    on_init: Option<StageDescription>,
    on_reconfiguration: Option<StageDescription>,
    on_expansion: Option<StageDescription>,
    phases: Vec<PhaseDescription>,
}

#[derive(FromPyObject)]
struct StageDescription {
    iterations: Formula,
    tasks: Vec<TaskDescription>,
}

#[derive(FromPyObject)]
struct PhaseDescription {
    iterations: Formula,
    scheduling_point: bool,
    evolving_request: Option<Formula>,
    barrier: bool,
    tasks: Vec<TaskDescription>,
}

struct TaskDescription(Task);

/// A formula for the total, or explicit amounts.
#[derive(FromPyObject)]
enum Amounts {
    Total(Formula),
    Each(Vec<f64>),
}

impl From<StageDescription> for Stage {
    fn from(stage: StageDescription) -> Self {
        Self { iterations: own(&stage.iterations), tasks: tasks(stage.tasks) }
    }
}

impl From<PhaseDescription> for Phase {
    fn from(phase: PhaseDescription) -> Self {
        Self {
            iterations: own(&phase.iterations),
            scheduling_point: phase.scheduling_point,
            evolving_request: phase.evolving_request.as_ref().map(own),
            barrier: phase.barrier,
            tasks: tasks(phase.tasks),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for TaskDescription {
    type Error = PyErr;

    fn extract(task: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Task {
            name: task.getattr("name")?.extract()?,
            iterations: own(&task.getattr("iterations")?.extract::<Formula>()?),
            synchronized: task.getattr("synchronized")?.extract()?,
            work: work(&task)?,
        }))
    }
}

fn work(task: &Bound<'_, PyAny>) -> PyResult<Work> {
    let kind: String = task.getattr("kind")?.extract()?;
    Ok(match kind.as_str() {
        "compute" => Work::Compute {
            flops: flops(task)?,
            bytes: traffic(task)?,
            coupled: task.getattr("coupled")?.extract()?,
        },
        "gpu" => Work::Gpu { flops: flops(task)?, bytes: traffic(task)? },
        "read" => transfer(task, Direction::Read)?,
        "write" => transfer(task, Direction::Write)?,
        "idle" => Work::Idle { seconds: payload(task, "seconds", "pattern")? },
        "busy_wait" => Work::BusyWait { seconds: payload(task, "seconds", "pattern")? },
        "skeleton" => messages(&task.getattr("program")?)?,
        "sequence" => Work::Sequence { tasks: tasks(task.getattr("tasks")?.extract()?) },
        _ => return Err(PyValueError::new_err(format!("kind = '{kind}' is no kind of task"))),
    })
}

fn messages(program: &Bound<'_, PyAny>) -> PyResult<Work> {
    if let Ok(rounds) = program.extract::<PyRef<'_, RoundProgram>>() {
        return Ok(Work::Rounds(Arc::clone(&rounds.kernel)));
    }
    Ok(Work::Messages(Arc::clone(&program.extract::<PyRef<'_, MessageProgram>>()?.kernel)))
}

fn transfer(task: &Bound<'_, PyAny>, direction: Direction) -> PyResult<Work> {
    let storage: String = task.getattr("storage")?.extract()?;
    let storage = match storage.as_str() {
        "parallel_file_system" => Storage::ParallelFileSystem,
        "burst_buffer" => Storage::BurstBuffer,
        "cache" => Storage::Cache,
        _ => return Err(PyValueError::new_err(format!("storage = '{storage}' is no storage"))),
    };
    let bytes = payload(task, "bytes", "pattern")?;
    Ok(Work::Transfer { storage, direction, bytes, asynchronous: task.getattr("asynchronous")?.extract()? })
}

fn flops(task: &Bound<'_, PyAny>) -> PyResult<Option<Payload>> {
    if task.getattr("flops")?.is_none() {
        Ok(None)
    } else {
        payload(task, "flops", "computation_pattern").map(Some)
    }
}

fn payload(task: &Bound<'_, PyAny>, amounts: &str, pattern: &str) -> PyResult<Payload> {
    let amounts = match task.getattr(amounts)?.extract()? {
        Amounts::Each(amounts) => {
            return Ok(Payload { total: KernelFormula::number(0.0), pattern: Pattern::Vector(amounts) });
        }
        Amounts::Total(total) => total,
    };
    let name: String = task.getattr(pattern)?.extract()?;
    match Pattern::named(&name) {
        Some(pattern) => Ok(Payload { total: own(&amounts), pattern }),
        None => Err(PyValueError::new_err(format!("{pattern} = '{name}' is no pattern of a total"))),
    }
}

fn traffic(task: &Bound<'_, PyAny>) -> PyResult<Option<Traffic>> {
    let bytes = task.getattr("bytes")?;
    if bytes.is_none() {
        return Ok(None);
    }
    let total = match bytes.extract()? {
        Amounts::Each(bytes) => {
            let total = KernelFormula::number(0.0);
            return Ok(Some(Traffic { total, pattern: Communication::Matrix(bytes) }));
        }
        Amounts::Total(total) => total,
    };
    let name: String = task.getattr("communication_pattern")?.extract()?;
    match Communication::named(&name) {
        Some(pattern) => Ok(Some(Traffic { total: own(&total), pattern })),
        None => {
            Err(PyValueError::new_err(format!("communication_pattern = '{name}' is no pattern of a total")))
        }
    }
}

fn tasks(descriptions: Vec<TaskDescription>) -> Vec<Task> {
    descriptions.into_iter().map(|TaskDescription(task)| task).collect()
}

fn own(formula: &Formula) -> KernelFormula {
    KernelFormula::clone(&formula.kernel)
}

/// The properties of jobs in addition to their rows of numbers, from `batchlab.workload.elastic`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ElasticColumns<'py> {
    job_type: PyReadonlyArray1<'py, u8>,
    tasks_min: PyReadonlyArray1<'py, i64>,
    tasks_max: PyReadonlyArray1<'py, i64>,
    /// The index of the application; negative if the run time is given.
    application: PyReadonlyArray1<'py, i64>,
    applications: Vec<PyRef<'py, Application>>,
    /// The index of the set of arguments.
    arguments: PyReadonlyArray1<'py, i64>,
    argument_sets: Vec<BTreeMap<String, Argument>>,
    /// The index of the rank order.
    rank_order: PyReadonlyArray1<'py, i64>,
    /// Names, or lists of ranks.
    rank_orders: Vec<RankOrderGiven>,
}

/// A rank order: a rule by name, or a list of ranks.
#[derive(FromPyObject)]
enum RankOrderGiven {
    Named(String),
    Listed(Vec<u32>),
}

impl RankOrderGiven {
    fn rule(self) -> PyResult<RankOrder> {
        match self {
            Self::Listed(ranks) => Ok(RankOrder::Listed(ranks.into())),
            Self::Named(name) => {
                let known = RankOrder::NAMES.into_iter().find(|(known, _)| *known == name);
                known
                    .map(|(_, rule)| rule)
                    .ok_or_else(|| PyValueError::new_err(format!("no rank order {name}")))
            }
        }
    }
}

/// The properties of jobs, row by row, for the simulation.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct ApplicationJobs {
    pub jobs: Vec<ApplicationJob>,
}

#[pymethods]
impl ApplicationJobs {
    #[new]
    fn new(columns: ElasticColumns<'_>) -> PyResult<Self> {
        Ok(Self { jobs: columns.jobs()? })
    }

    fn __len__(&self) -> usize {
        self.jobs.len()
    }
}

impl ElasticColumns<'_> {
    fn jobs(self) -> PyResult<Vec<ApplicationJob>> {
        let models: Vec<_> =
            self.applications.iter().map(|application| Arc::clone(&application.model)).collect();
        let sets: Vec<Arc<BTreeMap<String, Value>>> =
            self.argument_sets.into_iter().map(argument_set).collect();
        let orders: Vec<RankOrder> =
            self.rank_orders.into_iter().map(RankOrderGiven::rule).collect::<PyResult<_>>()?;
        let orders_of = self.rank_order.as_array();
        let (types, models_of, sets_of) =
            (self.job_type.as_array(), self.application.as_array(), self.arguments.as_array());
        let (fewest, most) = (self.tasks_min.as_array(), self.tasks_max.as_array());
        let lengths = [fewest.len(), most.len(), models_of.len(), sets_of.len(), orders_of.len()];
        if lengths.iter().any(|&length| length != self.job_type.len()) {
            return Err(PyValueError::new_err("the columns of the elastic jobs differ in length"));
        }
        let job = |row: usize| {
            let (_, job_type) = JobType::NAMES.get(usize::from(types[row]))?;
            let application = usize::try_from(models_of[row]).ok();
            Some(ApplicationJob {
                job_type: *job_type,
                tasks_min: u32::try_from(fewest[row]).ok()?,
                tasks_max: u32::try_from(most[row]).ok()?,
                application: application
                    .map(|index| models.get(index).cloned().ok_or(()))
                    .transpose()
                    .ok()?,
                arguments: sets.get(usize::try_from(sets_of[row]).ok()?)?.clone(),
                rank_order: orders.get(usize::try_from(orders_of[row]).ok()?)?.clone(),
                messages: None,
            })
        };
        let jobs: Option<Vec<ApplicationJob>> = (0..types.len()).map(job).collect();
        jobs.ok_or_else(|| {
            PyValueError::new_err("a column of the elastic jobs points beyond what it points into")
        })
    }
}

fn argument_set(arguments: BTreeMap<String, Argument>) -> Arc<BTreeMap<String, Value>> {
    Arc::new(arguments.into_iter().map(|(name, value)| (name, value.into())).collect())
}

/// Creates an `ApplicationError` of the package.
pub fn application_error(py: Python<'_>, message: &str) -> PyErr {
    static KIND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match KIND.import(py, "batchlab.errors", "ApplicationError") {
        Ok(kind) => PyErr::from_type(kind.clone(), message.to_owned()),
        Err(error) => error,
    }
}
