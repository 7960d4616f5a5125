//! Accounts, usage, fair share and the multifactor priority.
use batchlab_kernel::accounting::{
    AccountTree as Tree, Accounts, Billing, Charge, Decay, DecayedUsage, Factors, JobSize, Machine, Member,
    Multifactor, PeriodicUsage, Shares, Size, Target, TargetKind, Usage, Weights, effective_share, named,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// A tree of accounts and users: node 0 is the root, each other node comes after its parent.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct AccountTree {
    kernel: Tree,
}

impl AccountTree {
    /// Checks that a node exists.
    fn node(&self, node: u32) -> PyResult<u32> {
        let known = self.kernel.nodes().contains(&(node as usize));
        known.then_some(node).ok_or_else(|| PyValueError::new_err(format!("there is no node {node}")))
    }
}

#[pymethods]
impl AccountTree {
    /// Each node except the root has a parent, shares (None: the fair share of its parent), and a flag that is true
    /// for a user.
    #[new]
    fn new(members: Vec<(u32, Option<f64>, bool)>) -> PyResult<Self> {
        let members: Vec<Member> = members
            .into_iter()
            .map(|(parent, shares, user)| Member {
                parent,
                shares: shares.map_or(Shares::Parent, Shares::Number),
                user,
            })
            .collect();
        let kernel = Tree::new(&members).map_err(|defect| PyValueError::new_err(defect.to_string()))?;
        Ok(Self { kernel })
    }

    /// Sum the charges of the nodes up to the root: the result includes the charges of members.
    fn totals<'py>(&self, py: Python<'py>, charged: PyReadonlyArray1<'py, f64>) -> PyResult<Column<'py>> {
        Ok(self.kernel.totals(self.per_node(charged.as_slice()?)?.to_vec()).into_pyarray(py))
    }

    /// Return normalised shares, normalised usage, effective usage, level fair share and factor of each node under a
    /// rule. `usage` is the usage of each node including its members.
    fn standing<'py>(
        &self,
        py: Python<'py>,
        usage: PyReadonlyArray1<'py, f64>,
        rule: &str,
        damping: f64,
        least_usage: f64,
    ) -> PyResult<Vec<Column<'py>>> {
        let entry =
            named(rule).ok_or_else(|| PyValueError::new_err(format!("no rule is called {rule:?}")))?;
        let usage = self.per_node(usage.as_slice()?)?;
        let standing = (entry.make)(damping, least_usage).standing(&self.kernel, usage);
        let columns = [
            standing.normalised_shares,
            standing.normalised_usage,
            standing.effective_usage,
            standing.level_fair_share,
            standing.factor,
        ];
        Ok(columns.into_iter().map(|column| column.into_pyarray(py)).collect())
    }
}

impl AccountTree {
    fn per_node<'a>(&self, values: &'a [f64]) -> PyResult<&'a [f64]> {
        let fits = values.len() == self.kernel.nodes().len();
        fits.then_some(values).ok_or_else(|| PyValueError::new_err("there must be one value for each node"))
    }
}

/// Creates zero usage with a kind of decay, given by name; the periods of decay begin at `begin`.
fn usage_of(accounts: &Tree, decay: &str, half_life: f64, step: (f64, f64), begin: f64) -> PyResult<Usage> {
    match decay {
        "slurm" => Ok(Usage::Slurm(PeriodicUsage::new(accounts, half_life, begin))),
        "exact" if half_life == f64::INFINITY => Ok(Usage::Exact(DecayedUsage::new(accounts, Decay::Never))),
        "exact" => Ok(Usage::Exact(DecayedUsage::new(accounts, Decay::HalfLife(half_life)))),
        "steps" => {
            let decay = Decay::Steps { factor: step.0, period: step.1, origin: begin };
            Ok(Usage::Exact(DecayedUsage::new(accounts, decay)))
        }
        _ => Err(PyValueError::new_err(format!("no decay is called {decay:?}"))),
    }
}

/// The accounts of a run: the tree, the rules for counting and comparing usage, and the charges of jobs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AccountInputs<'py> {
    tree: Py<AccountTree>,
    rule: String,
    damping: f64,
    least_usage: f64,
    /// The weight of a unit of each resource, and whether only the most expensive resource is charged.
    weights: Vec<f64>,
    max_tres: bool,
    decay: String,
    half_life: f64,
    /// Factor and period of the decay by steps.
    step: (f64, f64),
    /// For each job the node that it is charged to, `u32::MAX` if none; and the factor of its charges.
    node: PyReadonlyArray1<'py, u32>,
    usage_factor: Option<PyReadonlyArray1<'py, f64>>,
    /// Past usage of nodes.
    initial: Vec<(u32, f64)>,
}

impl AccountInputs<'_> {
    /// Creates the accounts, and their usage at the origin of the run.
    pub fn parts(&self, py: Python<'_>, origin: f64) -> PyResult<(Accounts, Usage)> {
        let tree = self.tree.borrow(py).kernel.clone();
        let entry = named(&self.rule)
            .ok_or_else(|| PyValueError::new_err(format!("no rule is called {:?}", self.rule)))?;
        let mut usage = usage_of(&tree, &self.decay, self.half_life, self.step, origin)?;
        for &(node, amount) in &self.initial {
            usage.add(&tree, self.tree.borrow(py).node(node)?, origin, amount);
        }
        let factor = self.usage_factor.as_ref().map_or(Vec::new(), |column| column.as_array().to_vec());
        let accounts = Accounts {
            rule: (entry.make)(self.damping, self.least_usage),
            billing: Billing { weights: self.weights.clone(), dearest: self.max_tres },
            node: self.node.as_array().to_vec(),
            usage_factor: factor,
            tree,
        };
        let has_nodes = |&node: &u32| node == u32::MAX || accounts.tree.nodes().contains(&(node as usize));
        if !accounts.node.iter().all(has_nodes) {
            return Err(PyValueError::new_err("a job is charged to a node that the tree does not have"));
        }
        Ok((accounts, usage))
    }
}

/// The usage of each node of an account tree.
#[pyclass(module = "batchlab._kernel")]
pub struct AccountUsage {
    tree: Py<AccountTree>,
    kernel: Usage,
}

#[pymethods]
impl AccountUsage {
    /// Start without usage. `decay` is `"exact"`, `"slurm"` or `"steps"`, with a half-life (s, may be infinite), or a
    /// factor and a period (s). Slurm's first pass, and periods, count from `begin` (s) on.
    #[new]
    fn new(
        py: Python<'_>,
        tree: Py<AccountTree>,
        decay: &str,
        half_life: f64,
        step: (f64, f64),
        begin: f64,
    ) -> PyResult<Self> {
        let accounts = &tree.borrow(py).kernel;
        let kernel = usage_of(accounts, decay, half_life, step, begin)?;
        Ok(Self { tree: tree.clone_ref(py), kernel })
    }

    /// Charge a user `rate` per second from `start` (s) on.
    fn start(&mut self, py: Python<'_>, node: u32, rate: f64, start: f64) -> PyResult<()> {
        let tree = self.tree.borrow(py);
        self.kernel.start(&tree.kernel, Charge { node: tree.node(node)?, rate, start });
        Ok(())
    }

    /// Stop a charge that was started with the same arguments.
    fn end(&mut self, py: Python<'_>, node: u32, rate: f64, start: f64, now: f64) -> PyResult<()> {
        let tree = self.tree.borrow(py);
        self.kernel.end(&tree.kernel, Charge { node: tree.node(node)?, rate, start }, now);
        Ok(())
    }

    /// Add past usage to a node, and to all of its ancestors.
    fn add(&mut self, py: Python<'_>, node: u32, now: f64, amount: f64) -> PyResult<()> {
        let tree = self.tree.borrow(py);
        self.kernel.add(&tree.kernel, tree.node(node)?, now, amount);
        Ok(())
    }

    /// End a period of calculation.
    fn calculate(&mut self, py: Python<'_>, now: f64) {
        self.kernel.pass(&self.tree.borrow(py).kernel, now);
    }

    /// Return the usage of each node.
    fn usage<'py>(&self, py: Python<'py>, now: f64) -> Column<'py> {
        self.kernel.all(now).into_pyarray(py)
    }
}

/// The parameters of the multifactor priority.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    age: f64,
    association: f64,
    fair_share: f64,
    job_size: f64,
    partition: f64,
    qos: f64,
    resources: Vec<f64>,
    max_age: f64,
    favour: String,
    nodes: f64,
    processors: f64,
}

impl TryFrom<Settings> for Multifactor {
    type Error = PyErr;

    fn try_from(settings: Settings) -> PyResult<Self> {
        multifactor(settings)
    }
}

fn multifactor(settings: Settings) -> PyResult<Multifactor> {
    let Settings { age, association, fair_share, job_size, partition, qos, resources, .. } = settings;
    let named = JobSize::NAMES.iter().find(|(name, _)| *name == settings.favour);
    let Some(&(_, favour)) = named else {
        return Err(PyValueError::new_err(format!("no jobs are favoured as {:?}", settings.favour)));
    };
    Ok(Multifactor {
        weights: Weights { age, association, fair_share, job_size, partition, qos, resources },
        max_age: settings.max_age,
        job_size: favour,
        machine: Machine { nodes: settings.nodes, processors: settings.processors },
    })
}

/// Return the age and size factors, the sum and the priority of each job.
///
/// `jobs` has a row for each job: seconds since it became eligible, nodes, processors, requested time (s), the factors
/// association, fair share, partition and quality of service, nice, site. `resources` is the requested fraction of each
/// resource.
#[pyfunction]
pub fn multifactor_priorities<'py>(
    py: Python<'py>,
    settings: Settings,
    jobs: PyReadonlyArray2<'py, f64>,
    resources: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Column<'py>, Column<'py>, Column<'py>, Bound<'py, PyArray1<u32>>)> {
    let rule = multifactor(settings)?;
    let (jobs, resources) = (jobs.as_array(), resources.as_array());
    if jobs.ncols() != 10 || jobs.nrows() != resources.nrows() {
        return Err(PyValueError::new_err("jobs must have 10 columns, and resources as many rows"));
    }
    let (mut ages, mut sizes, mut sums, mut priorities) = (vec![], vec![], vec![], vec![]);
    for (job, asked) in jobs.rows().into_iter().zip(resources.rows()) {
        let size = Size { nodes: job[1], processors: job[2], requested_time: job[3] };
        let factors = Factors {
            age: rule.age(job[0]),
            job_size: rule.job_size(size),
            association: job[4],
            fair_share: job[5],
            partition: job[6],
            qos: job[7],
            nice: job[8],
            site: job[9],
        };
        let asked: Vec<f64> = asked.iter().copied().collect();
        ages.push(factors.age);
        sizes.push(factors.job_size);
        sums.push(rule.sum(&factors, &asked));
        priorities.push(rule.priority(&factors, &asked));
    }
    Ok((ages.into_pyarray(py), sizes.into_pyarray(py), sums.into_pyarray(py), priorities.into_pyarray(py)))
}

/// Return the share of `own` in `total` usage in windows, newest first, per cent; the weight of a window is `decay`
/// times the weight of the next newer window.
#[pyfunction]
pub fn share_in_windows(own: Vec<f64>, total: Vec<f64>, decay: f64) -> f64 {
    effective_share(&own, &total, decay)
}

/// Return target minus usage, both in per cent; 0 for usage above a target marked `+`, or below one marked `-`.
#[pyfunction]
pub fn target_delta(target: f64, mark: &str, usage: f64) -> PyResult<f64> {
    let kind = match mark {
        "" => TargetKind::Both,
        "+" => TargetKind::Floor,
        "-" => TargetKind::Ceiling,
        _ => return Err(PyValueError::new_err(format!("no target is marked {mark:?}"))),
    };
    Ok(Target { value: target, kind }.delta(usage))
}
