//! Slurm's controller: one call of its main loop or of its backfill scheduler, as a function of its input.
use batchlab_kernel::index::NodeBits;
use batchlab_kernel::slurm::{
    Allotment, Amounts, CallState, Classes, Entry, EntryOutcome, GenericAmounts, GenericRequest, Held,
    Limits, Memory, Occupation, Owner, Partition, Precedence, Reservation, Setup, backfill, evaluate,
    main_loop,
};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::parameter::Arguments;
use crate::policy::slurm_parameters;

/// Node, CPUs, memory and generic resources.
type Part = (u32, i64, i64, Vec<i64>);
/// The outcome of an entry, its start, its allocation, and the jobs preempted for it.
type Outcome = (&'static str, Option<f64>, Option<Vec<Part>>, Vec<u32>);
/// The outcomes of the entries, and the weights of nodes after the call.
type Decided = (Vec<Outcome>, Vec<u32>);

/// The allocation of a job on a node.
#[derive(FromPyObject)]
struct HeldPart {
    node: u32,
    cpus: i64,
    memory: i64,
    generic: Vec<i64>,
}

/// A job that holds nodes.
#[derive(FromPyObject)]
struct Holder {
    job: u32,
    end: f64,
    allotments: Vec<HeldPart>,
    preemption_class: u32,
    started: f64,
    may_be_preempted: bool,
    counted_in: Vec<u32>,
    over_time_limit: f64,
    noticed: bool,
}

impl Holder {
    fn to_kernel(&self, nodes: usize, kinds: usize) -> PyResult<Held> {
        bits(nodes, self.allotments.iter().map(|part| part.node))?;
        let allot = |part: &HeldPart| Allotment { node: part.node, cpus: part.cpus, memory: part.memory };
        let mut generic = Vec::new();
        if self.allotments.iter().any(|part| !part.generic.is_empty()) {
            for part in &self.allotments {
                generic.extend(amounts_of(&part.generic, kinds, self.job)?);
            }
        }
        let held =
            Held::new(self.job, u64::from(self.job), self.end, self.allotments.iter().map(allot).collect());
        let held = held.with_generic(generic);
        let classes = Classes { preemption: self.preemption_class, counted: self.counted_in.clone() };
        let held = held.of(classes, self.may_be_preempted.then_some(self.started));
        let held = held.late_by(self.over_time_limit);
        Ok(if self.noticed { held.noticed_until(self.end) } else { held })
    }
}

/// A waiting job in one of its partitions.
#[expect(clippy::struct_excessive_bools, reason = "the fields of Python's Entry")]
#[derive(FromPyObject)]
struct QueueEntry {
    job: u32,
    partition: usize,
    limit: f64,
    nodes: u32,
    tasks: u32,
    cpus_per_task: u32,
    tasks_per_node: u32,
    memory: i64,
    memory_is_per_cpu: bool,
    generic: Vec<i64>,
    generic_is_per_task: bool,
    exclusive: bool,
    suitable: Option<Vec<u32>>,
    is_open: bool,
    is_evaluated: bool,
    preemption_class: u32,
    may_preempt: bool,
    counted_in: Vec<u32>,
    reservation: Option<usize>,
    user: Option<u32>,
    association: Option<u32>,
    array: Option<u32>,
    priority: f64,
    eligible: f64,
}

impl QueueEntry {
    fn to_kernel(&self, setup: &Setup) -> PyResult<Entry> {
        let suitable = self.suitable.clone().map(|nodes| bits(setup.nodes(), nodes)).transpose()?;
        Ok(Entry {
            job: self.job,
            row: u64::from(self.job),
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
            generic: self.generic_request(setup.generic.kinds())?,
            exclusive: self.exclusive,
            suitable: suitable.map(Arc::new),
            limits: match (self.is_open, self.is_evaluated) {
                (true, _) => Limits::Within,
                (false, true) => Limits::Over,
                (false, false) => Limits::Shut,
            },
            classes: Classes { preemption: self.preemption_class, counted: self.counted_in.clone() },
            may_preempt: self.may_preempt,
            reservation: self.reservation,
            owner: Owner { user: self.user, association: self.association, array: self.array },
            priority: self.priority,
            eligible: self.eligible,
        })
    }

    fn generic_request(&self, kinds: usize) -> PyResult<GenericRequest> {
        if self.generic.iter().all(|&amount| amount == 0) {
            return Ok(GenericRequest::NOTHING);
        }
        let asked = amounts_of(&self.generic, kinds, self.job)?;
        let is_per_task = self.generic_is_per_task;
        Ok(if is_per_task { GenericRequest::PerTask(asked) } else { GenericRequest::PerNode(asked) })
    }
}

/// A reservation.
#[derive(FromPyObject)]
struct ReservedNodes {
    nodes: Vec<u32>,
    begin: f64,
    end: f64,
}

/// The input of a call.
#[derive(FromPyObject)]
pub struct GivenSituation {
    now: f64,
    available: Vec<u32>,
    running: Vec<Holder>,
    completing: Vec<Holder>,
    queue: Vec<QueueEntry>,
    reservations: Vec<ReservedNodes>,
}

/// The rules of preemption.
#[derive(FromPyObject)]
pub struct GivenPrecedence {
    preempts: Vec<Vec<u32>>,
    importance: Vec<f64>,
    youngest_first: bool,
    grace_time: f64,
}

/// The part of a controller that does not change between calls.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct SlurmController {
    setup: Setup,
    /// Number of entries that a call of the main loop examines if it does not examine the whole queue.
    depth: usize,
}

#[pymethods]
impl SlurmController {
    /// The parameters of the policy `slurm`; CPUs and memory of each node; its generic resources, and the index of the
    /// one that counts GPUs; the nodes of each partition and the maximum nodes of a job there; the weight of each node;
    /// the rules of preemption.
    #[new]
    fn new(
        parameters: Arguments,
        machine: Vec<(i64, i64)>,
        generic: (Vec<Vec<i64>>, Option<usize>),
        partitions: Vec<(Vec<u32>, u32)>,
        weights: Vec<u32>,
        precedence: Option<GivenPrecedence>,
    ) -> PyResult<Self> {
        let parameters = slurm_parameters(parameters)?;
        let nodes = machine.len();
        check_weights(&weights, nodes)?;
        let partitions = partitions
            .into_iter()
            .map(|(members, most_nodes)| Ok(Partition { nodes: bits(nodes, members)?, most_nodes }))
            .collect::<PyResult<_>>()?;
        let machine = machine.into_iter().map(|(cpus, memory)| Amounts { cpus, memory }).collect();
        let (generic, gpu) = generic;
        let kinds = generic.first().map_or(0, Vec::len);
        check_generic(&generic, nodes, kinds, gpu)?;
        let generic = GenericAmounts::new(kinds, generic.concat());
        let precedence = precedence.map_or_else(Precedence::default, |given| {
            let GivenPrecedence { preempts, importance, youngest_first, grace_time } = given;
            Precedence { preempts, importance, youngest_first, grace_time }
        });
        Ok(Self {
            setup: Setup { parameters, machine, generic, gpu, partitions, weights, weighs: true, precedence },
            depth: parameters.depth(),
        })
    }

    /// Run the main loop for the whole queue or its first entries: return the outcome of each entry, and the weights of
    /// nodes after the call.
    fn main_loop(&self, situation: GivenSituation, weights: Vec<u32>, is_full: bool) -> PyResult<Decided> {
        let (state, queue) = self.call_state(&situation, weights)?;
        let depth = if is_full { queue.len() } else { self.depth.min(queue.len()) };
        let (mut results, weights) = main_loop(&self.setup, state, &queue[..depth]);
        results.resize(queue.len(), EntryOutcome::NotTried);
        Ok((self.outcomes(&queue, results), weights))
    }

    /// Run backfill: return the outcome of each entry of the queue, and the weights of nodes after the call.
    fn backfill(&self, situation: GivenSituation, weights: Vec<u32>) -> PyResult<Decided> {
        let (state, queue) = self.call_state(&situation, weights)?;
        let (results, weights) = backfill(&self.setup, state, &queue);
        Ok((self.outcomes(&queue, results), weights))
    }

    /// Return the weights of nodes after the submission of these jobs.
    fn submit(&self, situation: GivenSituation, weights: Vec<u32>) -> PyResult<Vec<u32>> {
        let (CallState { occupation, mut weights, .. }, queue) = self.call_state(&situation, weights)?;
        for entry in &queue {
            let mut members = self.setup.partitions[entry.partition].nodes.clone();
            entry.keep_suitable(&mut members);
            evaluate(&self.setup, &occupation, entry, &members, &mut weights);
        }
        Ok(weights)
    }
}

impl SlurmController {
    fn call_state(&self, situation: &GivenSituation, weights: Vec<u32>) -> PyResult<(CallState, Vec<Entry>)> {
        let (nodes, kinds) = (self.setup.nodes(), self.setup.generic.kinds());
        check_weights(&weights, nodes)?;
        let mut occupation = Occupation::none(&self.setup);
        for each in &situation.running {
            occupation.insert(&self.setup, each.to_kernel(nodes, kinds)?);
        }
        for each in &situation.completing {
            occupation.insert_completing(&self.setup, each.to_kernel(nodes, kinds)?);
        }
        let reserve = |each: &ReservedNodes| {
            let &ReservedNodes { ref nodes, begin, end } = each;
            Ok(Reservation { nodes: bits(self.setup.nodes(), nodes.iter().copied())?, begin, end })
        };
        let state = CallState {
            now: situation.now,
            available: bits(nodes, situation.available.iter().copied())?,
            reservations: situation.reservations.iter().map(reserve).collect::<PyResult<_>>()?,
            weights,
            ..CallState::of(&self.setup, occupation)
        };
        Ok((state, self.entries(situation)?))
    }

    fn outcomes(&self, queue: &[Entry], results: Vec<EntryOutcome>) -> Vec<Outcome> {
        queue.iter().zip(results).map(|(entry, result)| self.outcome(entry, result)).collect()
    }

    fn outcome(&self, entry: &Entry, result: EntryOutcome) -> Outcome {
        let parts = |chosen: Vec<Allotment>| Some(self.parts(entry, &chosen));
        match result {
            EntryOutcome::Started(chosen) => ("started", None, parts(chosen), Vec::new()),
            EntryOutcome::Planned(start, chosen) => ("planned", Some(start), parts(chosen), Vec::new()),
            EntryOutcome::Preempts(gone, planned) => ("preempts", None, parts(planned), gone),
            EntryOutcome::Waits => ("waits", None, None, Vec::new()),
            EntryOutcome::NotTried => ("not_tried", None, None, Vec::new()),
        }
    }

    fn parts(&self, entry: &Entry, chosen: &[Allotment]) -> Vec<Part> {
        let generic = self.setup.generic_of(entry, chosen);
        let mut generic = generic.chunks_exact(self.setup.generic.kinds().max(1));
        let part = |each: &Allotment| {
            (each.node, each.cpus, each.memory, generic.next().unwrap_or_default().to_vec())
        };
        chosen.iter().map(part).collect()
    }

    fn entries(&self, situation: &GivenSituation) -> PyResult<Vec<Entry>> {
        let (partitions, reservations) = (self.setup.partitions.len(), situation.reservations.len());
        for &QueueEntry { job, partition, reservation, .. } in &situation.queue {
            if partition >= partitions {
                return Err(PyValueError::new_err(format!("job {job}: there is no partition {partition}")));
            }
            if let Some(own) = reservation.filter(|&own| own >= reservations) {
                return Err(PyValueError::new_err(format!("job {job}: there is no reservation {own}")));
            }
        }
        situation.queue.iter().map(|entry| entry.to_kernel(&self.setup)).collect()
    }
}

fn check_generic(generic: &[Vec<i64>], nodes: usize, kinds: usize, gpu: Option<usize>) -> PyResult<()> {
    let is_even = generic.iter().all(|of_node| of_node.len() == kinds);
    if !is_even || (!generic.is_empty() && generic.len() != nodes) {
        return Err(PyValueError::new_err(format!(
            "generic resources of {} nodes; must be as many of each of {nodes} nodes",
            generic.len()
        )));
    }
    match gpu.filter(|&gpu| gpu >= kinds) {
        Some(gpu) => {
            Err(PyValueError::new_err(format!("there is no generic resource {gpu}: they are {kinds}")))
        }
        None => Ok(()),
    }
}

fn check_weights(weights: &[u32], nodes: usize) -> PyResult<()> {
    if weights.len() == nodes {
        return Ok(());
    }
    let given = weights.len();
    Err(PyValueError::new_err(format!("{given} weights are given for {nodes} nodes")))
}

fn bits(nodes: usize, members: impl IntoIterator<Item = u32> + Clone) -> PyResult<NodeBits> {
    match members.clone().into_iter().find(|&node| node as usize >= nodes) {
        Some(node) => Err(PyValueError::new_err(format!("there is no node {node}: they are {nodes}"))),
        None => Ok(NodeBits::of(nodes, members)),
    }
}

/// Checks the amounts of all generic resources of a job.
fn amounts_of(given: &[i64], kinds: usize, job: u32) -> PyResult<Vec<i64>> {
    if given.len() == kinds {
        return Ok(given.to_vec());
    }
    let count = given.len();
    Err(PyValueError::new_err(format!("job {job}: {count} generic resources are given, nodes have {kinds}")))
}
