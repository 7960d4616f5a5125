//! Whole runs of small scenarios.
mod agenda;
mod allocation;
mod defects;
mod forks;
mod overheads;
mod pauses;
mod rates;
mod slurm;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::cluster::{NodeSet, NodeSetId, NodeSets, NodeTasks, Ranking, Request, Requests};
use crate::decision::{Decision, TimerPurpose};
use crate::priority::FORMULA_NAMES;
use crate::record::{Changes, Recorders};
use crate::replay::Replay;
use crate::scenario::{Overhead, Overheads, Scenario, WallTime};
use crate::scheduler::{Capacities, PolicyChoice, SlurmSettings};
use crate::state::{JobRecords, State};
use crate::workload::{Job, JobState};

use super::{Agenda, Simulation, YieldPoint};

/// Inputs of a run. Request 0 is for one core, request 1 for two cores, request 2 for whole nodes, request 3 for one
/// core in the first half of the nodes.
#[derive(Clone, Debug)]
struct Case {
    jobs: Vec<Job>,
    nodes: u32,
    cores: i64,
    wall_time: WallTime,
    overheads: Option<Box<Overheads>>,
    order: &'static str,
    backfill: &'static str,
    reservations: usize,
    allocator: &'static str,
    agenda: Agenda,
    slurm: Option<SlurmSettings>,
}

/// How a job ended: state, start, end and nodes.
type Outcome = (JobState, u64, u64, Vec<NodeTasks>);

impl Case {
    /// Jobs under `fcfs` without backfilling.
    fn of(jobs: Vec<Job>, nodes: u32, cores: i64) -> Self {
        Self {
            jobs,
            nodes,
            cores,
            wall_time: WallTime::Run,
            overheads: None,
            order: "fcfs",
            backfill: "none",
            reservations: 1,
            allocator: "first_fit",
            agenda: Agenda::default(),
            slurm: None,
        }
    }

    fn under(self, backfill: &'static str, reservations: usize) -> Self {
        Self { backfill, reservations, ..self }
    }

    fn open(&self) -> Simulation<Replay> {
        let (sets, numbers) =
            NodeSets::with(self.nodes, vec![NodeSet::new(std::iter::once(0..self.nodes.div_ceil(2)))]);
        let node_sets = Arc::new(sets);
        let amounts = vec![self.cores; self.nodes as usize];
        let mut requests = Requests::new(1, &amounts);
        let one = Request { amounts: vec![1], ..Request::NOTHING };
        requests.intern(one.clone());
        requests.intern(Request { amounts: vec![2], ..one.clone() });
        requests.intern(Request { exclusive: true, ..one.clone() });
        requests.intern(Request { nodes: numbers[0], partition: numbers[0], ..one });
        let choice = PolicyChoice {
            order: self.order.into(),
            argument: None,
            multifactor: None,
            backfill: self.backfill.into(),
            allocator: self.allocator.into(),
            reservations: self.reservations,
            slurm: self.slurm.clone(),
            seed: 0,
            ranking: Ranking::default(),
            critical: Vec::new(),
            mapping: None,
        };
        let capacities =
            Capacities { resources: 1, amounts, node_sets: Arc::clone(&node_sets), has_calendar: false };
        let parts = choice.parts(&capacities, &FORMULA_NAMES).expect("a known policy");
        let state = State::new(JobRecords::new(&self.jobs, |_| None), capacities.machine());
        let scenario = Scenario {
            wall_time: self.wall_time,
            overheads: self.overheads.clone(),
            ..Scenario::new(self.jobs.clone(), Vec::new(), requests, node_sets)
        };
        let recorders = Recorders { changes: Changes::subscribed(u16::MAX), ..Recorders::default() };
        Simulation::new(scenario, state, parts, self.agenda.clone(), Replay::new(&self.jobs))
            .with_recorders(recorders)
    }

    /// Return the outcomes of the jobs without external decisions.
    fn outcomes(&self) -> Vec<Outcome> {
        let mut simulation = self.open();
        finish(&mut simulation);
        outcomes(&simulation)
    }
}

fn job(row: u64, submit_time: f64, run_time: f64) -> Job {
    let requested_time = f64::INFINITY;
    Job { row, submit_time, run_time, requested_time, time_limit: requested_time, tasks: 1, request: 0 }
}

/// Run to the end and pass each point to `answer`; take changes that `answer` has not taken.
fn drive(
    simulation: &mut Simulation<Replay>,
    mut answer: impl FnMut(&mut Simulation<Replay>, YieldPoint),
) -> YieldPoint {
    loop {
        let Ok(point) = simulation.advance();
        answer(simulation, point);
        match point {
            YieldPoint::Changes => drop(simulation.take_changes()),
            YieldPoint::End | YieldPoint::Stuck | YieldPoint::Failed => return point,
            _ => {}
        }
    }
}

fn finish(simulation: &mut Simulation<Replay>) {
    assert_eq!(drive(simulation, |_, _| {}), YieldPoint::End);
}

/// Run to the end, with each decision applied at its time.
fn run_deciding(simulation: &mut Simulation<Replay>, decisions: &[(f64, Decision)]) {
    for (caller, (time, _)) in decisions.iter().enumerate() {
        let wake = Decision::Wake { time: *time, caller: caller as u32, purpose: TimerPurpose::Act };
        simulation.decide(wake).expect("a time to come");
    }
    let end = drive(simulation, |simulation, point| {
        if let YieldPoint::Timer(caller) = point {
            simulation.decide(decisions[caller as usize].1.clone()).expect("a decision that holds");
        }
    });
    assert_eq!(end, YieldPoint::End);
}

fn outcomes(simulation: &Simulation<Replay>) -> Vec<Outcome> {
    let jobs = &simulation.state().jobs;
    let of = |job| {
        let bits = |time: f64| if time.is_nan() { u64::MAX } else { time.to_bits() };
        let placement = jobs.last_placement(job).listed().into_owned();
        (jobs.state(job), bits(jobs.start_time(job)), bits(jobs.end_time(job)), placement)
    };
    (0..jobs.len() as u32).map(of).collect()
}

fn end_of(simulation: &Simulation<Replay>, job: u32) -> (JobState, f64) {
    let jobs = &simulation.state().jobs;
    (jobs.state(job), jobs.end_time(job))
}

/// Assert that all resources are free after the run.
fn assert_empty(simulation: &Simulation<Replay>) {
    let machine = &simulation.state().machine;
    let all = machine.node_sets().ids().map(|set| {
        let nodes = machine.node_sets().nodes_from(set, 0);
        nodes.map(|node| machine.capacity_of(node)[0]).sum::<i64>()
    });
    assert!(machine.free_totals().iter().copied().eq(all));
    assert!(simulation.state().running.is_empty());
    assert_eq!(machine.total_free_in(NodeSetId::ALL), machine.total_free());
}

/// Draw jobs that fit on 4 nodes of 4 cores; estimates are exact, too long or too short.
fn some_jobs() -> impl Strategy<Value = Vec<Job>> {
    let one = (0..30_u32, 0..40_u32, 0..40_u32, 1..6_u32, 0..4_u32);
    vec(one, 1..25).prop_map(|rows| {
        let of = |(row, (submit, run, requested, tasks, request)): (usize, (u32, u32, u32, u32, u32))| Job {
            row: row as u64,
            submit_time: f64::from(submit),
            run_time: f64::from(run),
            requested_time: f64::from(requested),
            time_limit: f64::from(requested),
            tasks: if request == 2 { tasks.min(4) } else { tasks },
            request,
        };
        rows.into_iter().enumerate().map(of).collect()
    })
}
