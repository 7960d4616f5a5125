//! A policy by its names, and the site and scheduler that it asks for.
use std::sync::Arc;

use crate::cluster::{Machine, NodeSets, Requests};
use crate::workload::jobs::JobTable;

use super::allocate::{Allocator, Placer};
use super::backfill::{Blocking, FirstFit, Scheduler};
use super::conservative::Conservative;
use super::easy::Easy;
use super::easy_reservations::EasyReservations;
use super::expression::Expression;
use super::order::Order;
use super::outside::Outside;
use super::site::Site;

/// The names of a policy's parts, with their arguments.
#[derive(Clone, Debug)]
pub struct PolicyChoice {
    /// Name of the order.
    pub order: String,
    /// The seed of `random`, the formula of `expression`.
    pub argument: Option<String>,
    /// Name of the backfilling rule.
    pub backfill: String,
    /// Name of the allocator.
    pub allocator: String,
    /// How many jobs EASY does not delay.
    pub reservations: usize,
    /// The seed of the run.
    pub seed: u64,
    /// Whether it must be known who runs, whatever the rules need.
    pub keeps_running: bool,
}

/// A machine before anybody came.
#[derive(Clone, Debug)]
pub struct Capacities {
    /// Number of resources.
    pub resources: usize,
    /// Amount of each resource on each node, node-major.
    pub amounts: Vec<i64>,
    /// The resource that counts as processors, if there is one.
    pub core: Option<usize>,
    /// The sets of nodes that requests name.
    pub node_sets: Arc<NodeSets>,
}

impl PolicyChoice {
    /// The site and the scheduler; `names` are those that a formula may use.
    pub fn open(
        &self,
        jobs: JobTable,
        requests: Requests,
        capacities: Capacities,
        names: &[&str],
    ) -> Result<(Site, Scheduler), String> {
        let Capacities { resources, amounts, core, node_sets } = capacities;
        if amounts.is_empty() {
            return Err("the system has no nodes or no resources; it needs at least one of each".into());
        }
        let allocator: Allocator = self.allocator.parse()?;
        let scheduler = self.scheduler(resources, &amounts, &node_sets)?;
        let machine = Machine::new(resources, amounts, node_sets, allocator.needs_loads());
        let placer = Placer::new(allocator, self.seed);
        let plans =
            matches!(scheduler, Scheduler::Easy(_) | Scheduler::EasyReservations(_) | Scheduler::Outside(_));
        let keeps_running = self.keeps_running || plans;
        Ok((Site::new(jobs, requests, machine, placer, self.order(names)?, core, keeps_running), scheduler))
    }

    /// The scheduler, the order and the allocator, for a simulation that is under way on this machine.
    pub fn parts(&self, machine: &Machine, names: &[&str]) -> Result<(Scheduler, Order, Placer), String> {
        let mut scheduler = self.scheduler(machine.resources(), machine.capacity(), machine.node_sets())?;
        scheduler.disturbed();
        Ok((scheduler, self.order(names)?, Placer::new(self.allocator.parse()?, self.seed)))
    }

    fn scheduler(
        &self,
        resources: usize,
        capacity: &[i64],
        sets: &Arc<NodeSets>,
    ) -> Result<Scheduler, String> {
        if self.order == "reject" {
            return Ok(Scheduler::Reject);
        }
        Ok(match (self.backfill.as_str(), self.reservations) {
            ("none", _) => Scheduler::Blocking(Blocking::default()),
            ("first_fit", _) => Scheduler::FirstFit(FirstFit::default()),
            ("easy", 1) => Scheduler::Easy(Easy::default()),
            ("easy", count) => {
                Scheduler::EasyReservations(EasyReservations::new(count, resources, capacity, sets))
            }
            ("outside", _) => Scheduler::Outside(Box::new(Outside::new(resources, capacity, sets))),
            ("conservative", _) => {
                Scheduler::Conservative(Box::new(Conservative::new(resources, capacity, sets)))
            }
            (name, _) => return Err(format!("no backfilling rule named '{name}'")),
        })
    }

    fn order(&self, names: &[&str]) -> Result<Order, String> {
        let argument = self.argument.as_deref().unwrap_or_default();
        Ok(match self.order.as_str() {
            "fcfs" | "reject" => Order::Fcfs,
            "outside" => Order::Outside,
            "sjf" => Order::Sjf,
            "ljf" => Order::Ljf,
            "saf" => Order::Saf,
            "laf" => Order::Laf,
            "smallest" => Order::Smallest,
            "largest" => Order::Largest,
            "wfp3" => Order::Wfp3,
            "unicef" => Order::Unicef,
            "f1" => Order::F1,
            "f2" => Order::F2,
            "f3" => Order::F3,
            "f4" => Order::F4,
            "random" => Order::Random(
                argument
                    .parse()
                    .map_err(|_| format!("random({argument}): the seed must be an integer in [0, 2^64)"))?,
            ),
            "expression" => {
                Order::Formula(Expression::parse(argument, names).map_err(|error| error.to_string())?)
            }
            name => return Err(format!("no order named '{name}'")),
        })
    }
}
