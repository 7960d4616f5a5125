//! A policy by the names of its parts, and the scheduler, priority and allocator made from them.
use std::sync::Arc;

use crate::accounting::Multifactor;
use crate::cluster::{self, NodeSets, Ranking};
use crate::placement::{self, Allocator, Mapping};
use crate::priority::{self, Expression, Priority};

use super::External;
use super::Scheduler;
use super::disciplines::{self, Discipline};
use super::registry::{Arguments, BACKFILLING, Machine};
use super::slurm::SlurmSettings;

/// Name of a part that is implemented outside the kernel.
const EXTERNAL: &str = "external";

/// The names of a policy's parts, with their arguments.
#[derive(Clone, Debug)]
pub struct PolicyChoice {
    /// Name of the order.
    pub order: String,
    /// Seed of `random`, or formula of `expression`.
    pub argument: Option<String>,
    /// Parameters of the order `multifactor`.
    pub multifactor: Option<Multifactor>,
    /// Name of the backfilling rule.
    pub backfill: String,
    /// Name of the allocator.
    pub allocator: String,
    /// How allocators that prefer busy nodes rank them.
    pub ranking: Ranking,
    /// Number of jobs that EASY must not delay.
    pub reservations: usize,
    /// The parameters of `slurm`.
    pub slurm: Option<SlurmSettings>,
    /// The seed of the run.
    pub seed: u64,
    /// The resources that `balanced` preserves.
    pub critical: Vec<usize>,
    /// The node order of allocators that use one.
    pub mapping: Option<Mapping>,
}

/// Capacities of a machine.
#[derive(Clone, Debug)]
pub struct Capacities {
    /// Number of resources.
    pub resources: usize,
    /// Amount of each resource on each node, node-major.
    pub amounts: Vec<i64>,
    /// Node sets that requests refer to.
    pub node_sets: Arc<NodeSets>,
    /// True if there are reservations of nodes in a calendar.
    pub has_calendar: bool,
}

impl Capacities {
    /// Create an empty machine with these capacities: at least one resource and one node.
    #[must_use]
    pub fn machine(self) -> cluster::Machine {
        cluster::Machine::new(self.resources, self.amounts, self.node_sets, false)
    }
}

/// The parts of a policy.
#[derive(Clone, Debug)]
pub struct PolicyParts {
    /// Backfilling rule.
    pub scheduler: Scheduler,
    /// Queue order.
    pub priority: Priority,
    /// Allocation rule.
    pub allocator: Allocator,
}

impl PolicyChoice {
    /// Build the parts for a machine. `names` are the variables that a formula may use.
    pub fn parts(&self, capacities: &Capacities, names: &[&str]) -> Result<PolicyParts, String> {
        let Capacities { resources, amounts, node_sets, has_calendar } = capacities;
        if amounts.is_empty() {
            return Err("the system has no nodes or no resources; it needs at least one of each".into());
        }
        let machine =
            Machine { resources: *resources, capacity: amounts, node_sets, has_calendar: *has_calendar };
        Ok(PolicyParts {
            scheduler: self.scheduler(machine)?,
            priority: self.priority(names)?,
            allocator: self.allocator(amounts.len() / resources)?,
        })
    }

    fn scheduler(&self, machine: Machine<'_>) -> Result<Scheduler, String> {
        if self.order == "reject" {
            return Ok(Scheduler::Reject);
        }
        if self.backfill == EXTERNAL {
            let Machine { resources, capacity, node_sets, .. } = machine;
            return Ok(Scheduler::External(Box::new(External::new(resources, capacity, node_sets))));
        }
        if let Some(place) = disciplines::named(&self.backfill) {
            return Ok(Scheduler::Discipline(Box::new(Discipline::new(place))));
        }
        let rule = BACKFILLING.iter().find(|entry| entry.name == self.backfill);
        let rule = rule.ok_or_else(|| format!("no backfilling rule named '{}'", self.backfill))?;
        let multifactor = self.multifactor.as_ref().filter(|_| self.order == "multifactor");
        let slurm = self.slurm.as_ref();
        let arguments = Arguments { reservations: self.reservations, slurm, multifactor, seed: self.seed };
        (rule.build)(machine, arguments).ok_or_else(|| format!("{}: its parameters are not given", rule.name))
    }

    fn allocator(&self, nodes: usize) -> Result<Allocator, String> {
        if self.allocator == EXTERNAL {
            return Ok(Allocator::external());
        }
        let rule = placement::named(&self.allocator);
        let rule = rule.ok_or_else(|| format!("no allocator named '{}'", self.allocator))?;
        if let Some(mapping) = &self.mapping {
            mapping.check(nodes)?;
        }
        let allocator = Allocator::new(rule, self.seed).ranking_by(self.ranking);
        Ok(allocator.with_critical(self.critical.clone()).with_mapping(self.mapping.clone()))
    }

    fn priority(&self, names: &[&str]) -> Result<Priority, String> {
        if let Some(place) = disciplines::named(&self.backfill) {
            return Ok(Discipline::new(place).order());
        }
        let argument = self.argument.as_deref().unwrap_or_default();
        match self.order.as_str() {
            EXTERNAL => Ok(Priority::External),
            "reject" => Ok(Priority::fcfs()),
            "random" => argument
                .parse()
                .map(Priority::Random)
                .map_err(|_| format!("random({argument}): the seed must be an integer in [0, 2^64)")),
            "expression" => {
                Expression::parse(argument, names).map(Priority::Formula).map_err(|error| error.to_string())
            }
            "multifactor" => match &self.multifactor {
                Some(rule) => Ok(Priority::Multifactor(Box::new(rule.clone()))),
                None => Err("multifactor: its factors are not given".into()),
            },
            name => priority::named(name).ok_or_else(|| format!("no order named '{name}'")),
        }
    }
}
