//! The registry of backfilling rules: name, source and constructor of each.
use std::sync::Arc;

use crate::accounting::Multifactor;
use crate::cluster::NodeSets;
use crate::parameter::Parameter;
use crate::slurm::SlurmParameters;

use super::{Blocking, Conservative, EasyReservations, FirstFit, Scheduler, Slurm, SlurmSettings};

/// The machine that a rule is built for.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// Number of resources.
    pub resources: usize,
    /// Amount of each resource on each node, node-major.
    pub capacity: &'a [i64],
    /// Node sets that requests refer to.
    pub node_sets: &'a Arc<NodeSets>,
    /// True if there are reservations of nodes in a calendar.
    pub has_calendar: bool,
}

/// Parameters of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// Number of jobs that EASY must not delay.
    pub reservations: usize,
    /// The parameters of `slurm`.
    pub slurm: Option<&'a SlurmSettings>,
    /// Parameters of `multifactor`, if it is the order.
    pub multifactor: Option<&'a Multifactor>,
    /// The seed of the run.
    pub seed: u64,
}

/// Registry entry of a backfilling rule.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source publication, or empty.
    pub source: &'static str,
    /// The parameters of its own.
    pub parameters: fn() -> Vec<Parameter>,
    /// Constructor; returns None if an argument is missing.
    pub build: fn(Machine<'_>, Arguments<'_>) -> Option<Scheduler>,
}

/// All backfilling rules of the kernel.
pub const BACKFILLING: [Entry; 5] = [
    Entry {
        name: "none",
        summary: "starts jobs in order, and stops at the first that does not fit",
        source: "",
        parameters: Vec::new,
        build: |_, _| Some(Scheduler::Blocking(Blocking::default())),
    },
    Entry {
        name: "first_fit",
        summary: "starts every job that fits, in order",
        source: "",
        parameters: Vec::new,
        build: |_, _| Some(Scheduler::FirstFit(FirstFit::default())),
    },
    Entry {
        name: "easy",
        summary: "a later job may start if it does not delay the first that waits",
        source: "D. A. Lifka: The ANL/IBM SP scheduling system. JSSPP 1995",
        parameters: Vec::new,
        build: |Machine { resources, capacity, node_sets, has_calendar }, Arguments { reservations, .. }| {
            // With a calendar, totals do not determine when the head starts.
            Some(if reservations == 1 && !has_calendar {
                Scheduler::Easy(Box::default())
            } else {
                let rule = EasyReservations::new(reservations, resources, capacity, node_sets);
                Scheduler::EasyReservations(Box::new(rule))
            })
        },
    },
    Entry {
        name: "conservative",
        summary: "a later job may start if it delays no job that waits",
        source: "A. W. Mu'alem, D. G. Feitelson: Utilization, predictability, workloads, and user runtime estimates in \
                 scheduling the IBM SP2 with backfilling. IEEE TPDS 12(6), 2001",
        parameters: Vec::new,
        build: |Machine { resources, capacity, node_sets, .. }, _| {
            Some(Scheduler::Conservative(Box::new(Conservative::new(resources, capacity, node_sets))))
        },
    },
    Entry {
        name: "slurm",
        summary: "decides as Slurm's controller, at its times: slurm(bf_interval=30)",
        source: "A. B. Yoo, M. A. Jette, M. Grondona: SLURM: Simple Linux Utility for Resource Management. JSSPP 2003",
        parameters: SlurmParameters::table,
        build: |machine, Arguments { slurm, multifactor, seed, .. }| {
            let Machine { resources, capacity, node_sets, .. } = machine;
            let rule = Slurm::new(slurm?, multifactor, resources, capacity, node_sets, seed);
            Some(Scheduler::Slurm(Box::new(rule)))
        },
    },
];
