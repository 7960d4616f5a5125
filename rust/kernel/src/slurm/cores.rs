//! `select/cons_tres`: nodes are shared by CPUs, memory and generic resources; best fit over runs of consecutive usable
//! nodes.
use std::cmp::Reverse;
use std::ops::Range;

use super::controller_input::{Allotment, Amounts, Entry, Memory};
use super::free_amounts::FreeAmounts;
use super::selection_input::{CoreFillOrder, SelectionInput};
use crate::index::NodeBits;

/// Numbers of free GPUs above this one are treated as equal.
const MOST_GPUS: i64 = 255;

/// Sort key of a node: its current weight; for jobs that request GPUs, then how few it has.
type Rank = (u32, u32);

/// Resources that a node offers to a job.
#[derive(Clone, Copy, Debug)]
struct Node {
    index: u32,
    weight: u32,
    cpus: i64,
    /// `MOST_GPUS` minus the number of GPUs that the job can have there; 0 if it requests none.
    lacking: u32,
    /// The free GPUs, if the job requests any; and the CPUs that the node would offer in addition with enough generic
    /// resources.
    gpus: u32,
    withheld: u32,
}

impl Node {
    /// Compute what a node offers.
    #[inline]
    fn of(entry: &Entry, input: &SelectionInput<'_>, index: u32) -> Self {
        Self::with(entry, input, index, input.free.left()[index as usize])
    }

    /// Compute what a node offers with these free amounts.
    #[inline]
    fn with(entry: &Entry, input: &SelectionInput<'_>, index: u32, left: Amounts) -> Self {
        let place = index as usize;
        let cpus = usable_cpus(entry, input.machine[place], left);
        let node = Self { index, weight: input.weights[place], cpus, lacking: 0, gpus: 0, withheld: 0 };
        if entry.generic.is_nothing() { node } else { node.within_generic(entry, input) }
    }

    /// Restrict the offer to the free generic resources.
    fn within_generic(self, entry: &Entry, input: &SelectionInput<'_>) -> Self {
        let cpus = admitted_cpus(entry, input.free, self.index, self.cpus);
        let node = Self { cpus, withheld: (self.cpus - cpus) as u32, ..self };
        let Some(kind) = input.gpu.filter(|&kind| entry.generic.wants(kind)) else { return node };
        let free = input.free.generic().of(self.index)[kind].clamp(0, i64::from(u32::MAX));
        let counted = entry.generic.counted(kind, free, entry.exclusive).min(MOST_GPUS);
        Self { lacking: (MOST_GPUS - counted) as u32, gpus: free as u32, ..node }
    }

    fn rank(self) -> Rank {
        (self.weight, self.lacking)
    }

    /// Return the measure by which trials leave out the smallest nodes.
    fn size(self) -> i64 {
        self.cpus + i64::from(self.withheld) + i64::from(self.gpus)
    }

    /// Return whether the other node is the next one and has the same rank.
    fn joins(self, next: Self) -> bool {
        self.index + 1 == next.index && self.rank() == next.rank()
    }
}

/// Consecutive nodes of one rank.
struct Run {
    /// Range in the list of nodes that offer something.
    places: Range<usize>,
    rank: Rank,
    /// Total CPUs that they offer.
    cpus: i64,
}

impl Run {
    /// Return the runs of these nodes.
    fn all(nodes: &[Node]) -> Vec<Self> {
        let mut first = 0;
        let runs = nodes.chunk_by(|one, next| one.joins(*next)).map(|run| {
            let places = first..first + run.len();
            first = places.end;
            Self { places, rank: run[0].rank(), cpus: run.iter().map(|node| node.cpus).sum() }
        });
        runs.collect()
    }
}

/// Return the allotments of a job on the nodes of an offer, or None.
pub(super) fn choose(entry: &Entry, input: SelectionInput<'_>) -> Option<Vec<Allotment>> {
    let (mut nodes, mut sum) = (Vec::new(), 0);
    for index in input.usable.iter_within(input.free.open()) {
        let node = Node::of(entry, &input, index);
        if node.cpus > 0 {
            sum += node.cpus;
            nodes.push(node);
        }
    }
    if nodes.len() < entry.least_nodes() as usize || sum < wanted_cpus(entry) {
        return None;
    }
    let attempt = Attempt::of(entry, input.most_nodes);
    let mut chosen = attempt.choose(entry, &mut nodes, input)?;
    if !fits_with_all_cores(entry, input, attempt) {
        return None;
    }
    chosen.sort_unstable_by_key(|node| node.index);
    let allot =
        |node: Node| Allotment { node: node.index, cpus: node.cpus, memory: entry.memory.with(node.cpus) };
    Some(chosen.into_iter().map(allot).collect())
}

/// Return whether a job that fits would also fit if all cores of its nodes were free, with the currently free memory
/// and generic resources: Slurm tries that first. Best fit over more cores may reach the job's maximum number of nodes
/// with too few CPUs.
fn fits_with_all_cores(entry: &Entry, input: SelectionInput<'_>, attempt: Attempt) -> bool {
    // In simulations a job may have all nodes: no count is needed.
    let has_most = |nodes: usize| attempt.most_nodes >= nodes;
    if entry.exclusive || has_most(input.machine.len()) || has_most(input.usable.count()) {
        return true;
    }
    let all_cores = |index: u32| {
        let place = index as usize;
        let left = Amounts { cpus: input.machine[place].cpus, ..input.free.left()[place] };
        Node::with(entry, &input, index, left)
    };
    let mut nodes: Vec<Node> = input.usable.iter().map(all_cores).filter(|node| node.cpus > 0).collect();
    Attempt { has_all_cores: true, ..attempt }.choose(entry, &mut nodes, input).is_some()
}

/// Return whether a job may fit. False only if it does not. O(nodes with free resources).
pub(super) fn may_fit(entry: &Entry, input: SelectionInput<'_>) -> bool {
    let (nodes, wanted) = (entry.least_nodes() as usize, wanted_cpus(entry));
    let (mut offering, mut cpus) = (0, 0);
    input.usable.iter_within(input.free.open()).any(|index| {
        let offered = offered_cpus(entry, input.machine, input.free, index);
        offering += usize::from(offered > 0);
        cpus += offered;
        offering >= nodes && cpus >= wanted
    })
}

/// Return the minimum number of CPUs that nodes must offer for a job to fit; 1 for exclusive jobs, which count nodes
/// instead.
pub(super) fn wanted_cpus(entry: &Entry) -> i64 {
    if entry.exclusive { 1 } else { i64::from(entry.all_tasks()) * i64::from(entry.cpus_per_task) }
}

/// Return the CPUs that a node offers to a job, restricted by its free generic resources.
#[inline]
pub(super) fn offered_cpus(entry: &Entry, machine: &[Amounts], free: &FreeAmounts, node: u32) -> i64 {
    let place = node as usize;
    let cpus = usable_cpus(entry, machine[place], free.left()[place]);
    if entry.generic.is_nothing() { cpus } else { admitted_cpus(entry, free, node, cpus) }
}

/// Return the part of these CPUs that the free generic resources of a node admit.
fn admitted_cpus(entry: &Entry, free: &FreeAmounts, node: u32, cpus: i64) -> i64 {
    match entry.generic.tasks(free.generic().of(node)) {
        Some(tasks) if tasks < i64::from(entry.tasks_per_node.max(1)) => 0,
        Some(tasks) if !entry.exclusive => cpus.min(tasks * i64::from(entry.cpus_per_task)),
        _ => cpus,
    }
}

/// Return the CPUs of a node that a job can use.
#[inline]
fn usable_cpus(entry: &Entry, all: Amounts, left: Amounts) -> i64 {
    let per_task = i64::from(entry.cpus_per_task);
    let mut cpus = match entry.memory {
        Memory::PerCpu(amount) if amount > 0 => left.cpus.min(left.memory / amount),
        Memory::PerNode(amount) if left.memory < amount => 0,
        _ => left.cpus,
    };
    if cpus < per_task * i64::from(entry.tasks_per_node.max(1)) || (entry.exclusive && left.cpus < all.cpus) {
        return 0;
    }
    if per_task > 1 && entry.all_tasks() > 1 {
        cpus -= cpus % per_task;
    }
    cpus
}

/// An attempt to select nodes for a job.
#[derive(Clone, Copy)]
struct Attempt {
    /// True if all cores count as free.
    has_all_cores: bool,
    exclusive: bool,
    /// True if the job requests one CPU.
    is_serial: bool,
    /// CPUs that the job uses on each node; 0 if it does not request tasks per node.
    per_node: i64,
    most_nodes: usize,
    /// Missing CPUs; for an exclusive job, missing nodes.
    missing: i64,
    /// Missing nodes of the requested number of nodes.
    missing_nodes: i64,
}

impl Attempt {
    fn of(entry: &Entry, most_nodes: u32) -> Self {
        let cpus = i64::from(entry.all_tasks()) * i64::from(entry.cpus_per_task);
        Self {
            has_all_cores: false,
            exclusive: entry.exclusive,
            is_serial: cpus == 1 && entry.least_nodes() == 1,
            per_node: i64::from(entry.tasks_per_node * entry.cpus_per_task),
            most_nodes: if entry.nodes > 0 { entry.nodes } else { most_nodes } as usize,
            missing: if entry.exclusive { i64::from(entry.nodes) } else { cpus },
            missing_nodes: i64::from(entry.least_nodes()),
        }
    }

    /// Try with all nodes, then repeatedly without the nodes that offer least, until the job fits.
    fn choose(self, entry: &Entry, nodes: &mut Vec<Node>, input: SelectionInput<'_>) -> Option<Vec<Node>> {
        if let Some(chosen) = self.fill(nodes, input) {
            return Some(chosen);
        }
        let least = entry.least_nodes() as usize;
        let most = nodes.iter().map(|node| node.size()).max().unwrap_or(0);
        for few in 1..most {
            let before = nodes.len();
            if before <= least {
                return None;
            }
            let mut left = before;
            nodes.retain(|node| {
                let stays = node.size() > few || left <= least;
                left -= usize::from(!stays);
                stays
            });
            if (nodes.len() < before || few == 1)
                && let Some(chosen) = self.fill(nodes, input)
            {
                return Some(chosen);
            }
        }
        None
    }

    fn fill(self, nodes: &mut [Node], input: SelectionInput<'_>) -> Option<Vec<Node>> {
        if let Some(idle) = input.idle_now {
            return self.evaluate_busy_first(nodes, idle);
        }
        match input.core_fill_order {
            CoreFillOrder::LeastLoaded => self.evaluate_least_loaded(nodes, input),
            CoreFillOrder::SerialAtEnd if self.is_serial => self.evaluate_last(nodes),
            CoreFillOrder::BestFit | CoreFillOrder::SerialAtEnd => self.evaluate(nodes),
        }
    }

    /// Select the last node of the least rank.
    fn evaluate_last(mut self, nodes: &mut [Node]) -> Option<Vec<Node>> {
        let last = nodes.iter_mut().min_by_key(|node| (node.rank(), Reverse(node.index)))?;
        Some(vec![self.take(last)])
    }

    /// Select nodes of the least rank, nodes in use before idle ones, then of the next rank. As in Slurm, a job that is
    /// complete with nodes in use continues with idle ones of that rank until it is complete again, and may get one
    /// node more than its maximum.
    fn evaluate_busy_first(mut self, nodes: &mut [Node], idle: &NodeBits) -> Option<Vec<Node>> {
        let key = |node: &Node| (node.rank(), idle.contains(node.index));
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&place| key(&nodes[place]));
        let keys: Vec<_> = order.iter().map(|&place| key(&nodes[place])).collect();
        let (mut chosen, mut done) = (Vec::new(), None);
        let mut first = 0;
        for group in keys.chunk_by(|one, next| one == next) {
            let (rank, _) = group[0];
            if done.is_some_and(|done| done != rank) {
                break;
            }
            for &place in &order[first..first + group.len()] {
                chosen.push(self.take(&mut nodes[place]));
                if self.is_filled() || chosen.len() == self.most_nodes {
                    done = Some(rank);
                    break;
                }
            }
            first += group.len();
        }
        self.is_filled().then_some(chosen)
    }

    /// Select nodes of the least rank with the largest free fraction of CPUs, then of the next rank; the first node
    /// wins ties.
    fn evaluate_least_loaded(mut self, nodes: &mut [Node], input: SelectionInput<'_>) -> Option<Vec<Node>> {
        let part = |node: &Node| {
            let place = node.index as usize;
            let all = input.machine[place].cpus;
            (if self.has_all_cores { all } else { input.free.left()[place].cpus }, all)
        };
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by(|&one, &other| {
            let ((free, all), (other_free, other_all)) = (part(&nodes[one]), part(&nodes[other]));
            let rank = nodes[one].rank().cmp(&nodes[other].rank());
            rank.then((other_free * all).cmp(&(free * other_all)))
        });
        let mut chosen = Vec::new();
        for place in order {
            if self.is_filled() || chosen.len() == self.most_nodes {
                break;
            }
            chosen.push(self.take(&mut nodes[place]));
        }
        self.is_filled().then_some(chosen)
    }

    fn is_filled(&self) -> bool {
        self.missing <= 0 && self.missing_nodes <= 0
    }

    /// Select nodes by best fit, with the CPUs on each. As in Slurm, a reduced offer of a node stays in `nodes` if the
    /// attempt fails.
    fn evaluate(mut self, nodes: &mut [Node]) -> Option<Vec<Node>> {
        let mut runs = Run::all(nodes);
        let mut chosen: Vec<Node> = Vec::new();
        while !self.is_filled() {
            let Run { places, .. } = runs.remove(self.best_run(&runs)?);
            let alone = self.one_node(places.clone(), nodes);
            for place in alone.map_or(places, |place| place..place + 1) {
                if self.is_filled() {
                    break;
                }
                if chosen.len() == self.most_nodes {
                    return None;
                }
                if self.most_nodes - chosen.len() == 1 && nodes[place].cpus < self.missing {
                    continue;
                }
                chosen.push(self.take(&mut nodes[place]));
            }
        }
        Some(chosen)
    }

    /// Return the run of the least rank that suffices with the fewest CPUs; if none suffices, the one with the most.
    fn best_run(&self, runs: &[Run]) -> Option<usize> {
        let least = runs.iter().map(|run| run.rank).min()?;
        let mut best: Option<(usize, bool, i64)> = None;
        for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.rank == least) {
            let total = run.cpus;
            let suffices = total >= self.missing && run.places.len() as i64 >= self.missing_nodes;
            let is_better = best.is_none_or(|(_, best_suffices, most)| {
                (suffices && (!best_suffices || total < most)) || (!suffices && total > most)
            });
            if is_better {
                best = Some((at, suffices, total));
            }
        }
        best.map(|(at, ..)| at)
    }

    /// Return the node of a run with the fewest CPUs that suffices alone, if the job needs no other.
    fn one_node(&self, run: Range<usize>, nodes: &[Node]) -> Option<usize> {
        if self.missing_nodes > 1 {
            return None;
        }
        let sufficient = run.filter(|&place| nodes[place].cpus >= self.missing);
        sufficient.min_by_key(|&place| nodes[place].cpus)
    }

    fn take(&mut self, node: &mut Node) -> Node {
        if !self.exclusive {
            // At least one CPU remains for each further node that the job requests.
            let further = (self.missing_nodes - 1).max(0);
            let most = (self.missing - further).max(1);
            if node.cpus > most {
                node.cpus = most;
                node.withheld = 0;
            }
        }
        let cpus = if self.per_node > 0 { self.per_node } else { node.cpus };
        self.missing -= cpus;
        self.missing_nodes -= 1;
        Node { cpus, ..*node }
    }
}
