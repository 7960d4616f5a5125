//! Slurm's controller: one call of its main loop or of its backfill, decided from what it sees.
use batchlab_kernel::slurm::{
    Allotment, Amounts, BackfillParameters, Entry, Held, Memory, NodeBits, Partition, Select, Setup,
    Situation, Verdict, backfill, main_loop,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Node, CPUs and memory.
type Part = (u32, i64, i64);
/// Job, end, and what it holds.
type Holder = (u32, f64, Vec<Part>);
/// What became of an entry, when it starts, and what it gets.
type Outcome = (&'static str, Option<f64>, Option<Vec<Part>>);

/// A job that waits, in one of its partitions.
#[derive(FromPyObject)]
pub struct QueueEntry {
    job: u32,
    partition: usize,
    limit: f64,
    nodes: u32,
    tasks: u32,
    cpus_per_task: u32,
    tasks_per_node: u32,
    memory: i64,
    memory_is_per_cpu: bool,
    exclusive: bool,
    is_open: bool,
}

impl QueueEntry {
    fn to_kernel(&self) -> Entry {
        Entry {
            job: self.job,
            partition: self.partition,
            limit: self.limit,
            nodes: self.nodes,
            tasks: self.tasks,
            cpus_per_task: self.cpus_per_task,
            tasks_per_node: self.tasks_per_node,
            memory: if self.memory_is_per_cpu {
                Memory::PerCpu(self.memory)
            } else {
                Memory::PerNode(self.memory)
            },
            exclusive: self.exclusive,
            is_open: self.is_open,
        }
    }
}

/// The part of a controller that does not change from call to call.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct SlurmController {
    setup: Setup,
}

#[pymethods]
impl SlurmController {
    /// `select` is "linear" or "cores"; CPUs and memory of each node; the nodes of each partition and the most that a job may
    /// have there; seconds, of which `epoch` is added to times to get those of the clock.
    #[new]
    fn new(
        select: &str,
        machine: Vec<(i64, i64)>,
        partitions: Vec<(Vec<u32>, u32)>,
        resolution: f64,
        window: f64,
        epoch: f64,
    ) -> PyResult<Self> {
        let select = Select::named(select)
            .ok_or_else(|| PyValueError::new_err(format!("no selection is called '{select}'")))?;
        let nodes = machine.len();
        let partitions = partitions
            .into_iter()
            .map(|(members, most_nodes)| Ok(Partition { nodes: bits(nodes, members)?, most_nodes }))
            .collect::<PyResult<_>>()?;
        let machine = machine.into_iter().map(|(cpus, memory)| Amounts { cpus, memory }).collect();
        let backfill = BackfillParameters::unlimited(resolution, window, epoch);
        Ok(Self { setup: Setup { select, machine, partitions, backfill } })
    }

    /// The main loop: for each entry of the queue what becomes of it.
    fn main_loop(
        &self,
        now: f64,
        available: Vec<u32>,
        running: Vec<Holder>,
        completing: Vec<Holder>,
        queue: Vec<QueueEntry>,
    ) -> PyResult<Vec<Outcome>> {
        let situation = self.situation(now, available, running, completing)?;
        Ok(main_loop(&self.setup, &situation, &self.entries(&queue)?).into_iter().map(outcome).collect())
    }

    /// Backfill: for each entry of the queue what becomes of it.
    fn backfill(
        &self,
        now: f64,
        available: Vec<u32>,
        running: Vec<Holder>,
        completing: Vec<Holder>,
        queue: Vec<QueueEntry>,
    ) -> PyResult<Vec<Outcome>> {
        let situation = self.situation(now, available, running, completing)?;
        Ok(backfill(&self.setup, &situation, &self.entries(&queue)?).into_iter().map(outcome).collect())
    }
}

impl SlurmController {
    fn situation(
        &self,
        now: f64,
        available: Vec<u32>,
        running: Vec<Holder>,
        completing: Vec<Holder>,
    ) -> PyResult<Situation> {
        let nodes = self.setup.nodes();
        let available = bits(nodes, available)?;
        let (running, completing) = (holders(nodes, running)?, holders(nodes, completing)?);
        Ok(Situation { now, available, running, completing })
    }

    fn entries(&self, queue: &[QueueEntry]) -> PyResult<Vec<Entry>> {
        let count = self.setup.partitions.len();
        if let Some(entry) = queue.iter().find(|entry| entry.partition >= count) {
            let (job, partition) = (entry.job, entry.partition);
            return Err(PyValueError::new_err(format!("job {job}: there is no partition {partition}")));
        }
        Ok(queue.iter().map(QueueEntry::to_kernel).collect())
    }
}

fn bits(nodes: usize, members: Vec<u32>) -> PyResult<NodeBits> {
    match members.iter().find(|&&node| node as usize >= nodes) {
        Some(node) => Err(PyValueError::new_err(format!("there is no node {node}: they are {nodes}"))),
        None => Ok(NodeBits::of(nodes, members)),
    }
}

fn holders(nodes: usize, holders: Vec<Holder>) -> PyResult<Vec<Held>> {
    holders
        .into_iter()
        .map(|(job, end, parts)| {
            bits(nodes, parts.iter().map(|part| part.0).collect())?;
            let allot = |(node, cpus, memory)| Allotment { node, cpus, memory };
            Ok(Held::new(job, end, parts.into_iter().map(allot).collect(), nodes))
        })
        .collect()
}

fn outcome(verdict: Verdict) -> Outcome {
    let parts = |chosen: Vec<Allotment>| {
        Some(chosen.into_iter().map(|each| (each.node, each.cpus, each.memory)).collect())
    };
    match verdict {
        Verdict::Started(chosen) => ("started", None, parts(chosen)),
        Verdict::Planned(start, chosen) => ("planned", Some(start), parts(chosen)),
        Verdict::Waits => ("waits", None, None),
        Verdict::NotTried => ("not_tried", None, None),
    }
}
