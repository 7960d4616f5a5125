//! A power meter: the power of nodes by their use, the energy of jobs, and the temperature of nodes.
//!
//! A change of a node costs O(resources), the power of the machine O(groups × resources). The power is computed from
//! integer counts, so it depends only on the current placements, not on their history, and a hypothetical start results
//! in exactly the same power as the actual start.
//!
//! The power of a node depends on its mode: idle, busy or drained if it is on, otherwise its power state (S21).
use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, Request};
use crate::index::SharedColumn;
use crate::state::View;

use super::power_model::{Mode, PowerModel, Spent, Tally, ThermalModel};
use super::power_rates::{PricedKind, RatedPower};

/// The state of a node since `since`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node {
    kind: u32,
    jobs: u32,
    mode: Mode,
    watts: f64,
    since: f64,
    /// Joules until `since`.
    energy: f64,
    /// Seconds until `since` in which the node was not on.
    away: f64,
    /// Joules per job of the additional power of the busy node, since it became busy.
    shared: f64,
    /// Degrees Celsius at `since`, and the maximum so far.
    temperature: f64,
    warmest: f64,
}

/// The power meter of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerMeter {
    /// The power models of each kind of node, at the current rate if it matters.
    draws: Vec<PowerModel>,
    /// The kinds with a power that depends on the rate, if there are any.
    rated: Option<Box<RatedPower>>,
    warming: Vec<ThermalModel>,
    tallies: Vec<Tally>,
    /// The energy spent in each mode up to each node's `since`, by kind.
    spent: Vec<Vec<Spent>>,
    nodes: Vec<Node>,
    /// The amount of each resource that jobs hold, node-major.
    used: Vec<i64>,
    now: f64,
    energy: f64,
    /// Joules of each job's past runs.
    energy_of_jobs: SharedColumn<f64>,
    /// The sum of `shared` over the nodes of a running job at its start; NaN if it is not running.
    shared_before: SharedColumn<f64>,
    /// The power as a step function: watts from each time on, without the current value.
    times: SharedColumn<f64>,
    powers: SharedColumn<f64>,
}

impl PowerMeter {
    /// Creates the meter of a machine: `kinds` is the index of each node's kind in `priced`, which is not empty.
    #[must_use]
    pub fn new(view: View<'_>, kinds: &[u32], priced: Vec<PricedKind>) -> Self {
        let (now, machine) = (view.integrated_until(), &view.state.machine);
        let (draws, rated) = RatedPower::new(view, kinds, priced);
        let tally = |draw: &PowerModel| Tally {
            used: vec![0; machine.resources()],
            asleep: vec![0; draw.asleep.len()],
            ..Tally::default()
        };
        let node = |&kind: &u32| Node {
            kind,
            jobs: 0,
            mode: Mode::Idle,
            watts: draws[kind as usize].idle,
            since: now,
            energy: 0.0,
            away: 0.0,
            shared: 0.0,
            temperature: 0.0,
            warmest: f64::NEG_INFINITY,
        };
        let mut meter = Self {
            warming: Vec::new(),
            tallies: draws.iter().map(tally).collect(),
            spent: draws.iter().map(|draw| vec![Spent::default(); 3 + draw.asleep.len()]).collect(),
            nodes: kinds.iter().map(node).collect(),
            used: vec![0; machine.capacity().len()],
            now,
            energy: 0.0,
            rated: rated.map(Box::new),
            energy_of_jobs: SharedColumn::default(),
            shared_before: SharedColumn::default(),
            times: SharedColumn::default(),
            powers: SharedColumn::default(),
            draws,
        };
        for node in 0..kinds.len() as u32 {
            meter.tallies[kinds[node as usize] as usize].idle += 1;
            meter.changed(view, node);
        }
        meter
    }

    /// Also computes temperatures of the nodes, starting at `initial` degrees Celsius; one entry per kind of node.
    pub fn warm(&mut self, warming: Vec<ThermalModel>, initial: &[f64], now: f64) {
        for node in 0..self.nodes.len() as u32 {
            self.settle(node, now);
            self.rebase(node, now);
            let at = &mut self.nodes[node as usize];
            at.temperature = initial[at.kind as usize];
            at.warmest = at.temperature;
        }
        self.warming = warming;
    }

    /// Updates the meter after a node changed at this time.
    pub fn changed(&mut self, view: View<'_>, node: u32) {
        let (now, machine) = (view.integrated_until(), &view.state.machine);
        self.advance(now);
        self.settle(node, now);
        let resources = machine.resources();
        let Self { draws, rated, tallies, nodes, used, .. } = self;
        let at = &mut nodes[node as usize];
        let was_away = at.mode.is_away();
        let (draw, tally) = (&draws[at.kind as usize], &mut tallies[at.kind as usize]);
        *tally.count(at.mode) -= 1;
        at.jobs = machine.jobs_on(node);
        at.mode = Mode::of(view.power_state(node), at.jobs, machine.is_drained(node));
        *tally.count(at.mode) += 1;
        at.watts = draw.watts(at.mode);
        if at.jobs == 0 {
            at.shared = 0.0;
        }
        let known = &mut used[node as usize * resources..][..resources];
        for (resource, known) in known.iter_mut().enumerate() {
            let in_use = if at.mode.is_away() { 0 } else { machine.used(node, resource) };
            tally.used[resource] += in_use - *known;
            *known = in_use;
            at.watts += draw.per_unit[resource] * in_use as f64;
        }
        if let Some(rated) = rated {
            rated.changed(draw, at.kind, node, was_away, at.mode, now);
            rated.rebase(draw, at.kind, node, at.mode, known, now);
        }
    }

    /// Updates the rate of the nodes of a control. O(kinds); with temperatures O(nodes of the changed kinds).
    pub fn rate_changed(&mut self, control: u32, rate: f64, now: f64) {
        let Some(kinds) = self.rated.as_ref().map(|rated| rated.kinds_of(control)) else { return };
        self.advance(now);
        for kind in kinds {
            let nodes = if self.warming.is_empty() { Vec::new() } else { self.nodes_of(kind) };
            for &node in &nodes {
                self.settle(node, now);
            }
            if let Some(rated) = &mut self.rated {
                rated.switch(&mut self.draws[kind as usize], kind, rate, now);
            }
            for &node in &nodes {
                self.nodes[node as usize].watts = self.watts_of(node);
                self.rebase(node, now);
            }
        }
    }

    /// Returns whether the power of the nodes of a control is known at this rate.
    #[must_use]
    pub fn knows_rate(&self, control: u32, rate: f64) -> bool {
        self.rated.as_ref().is_none_or(|rated| rated.knows(control, rate))
    }

    fn nodes_of(&self, kind: u32) -> Vec<u32> {
        (0..self.nodes.len() as u32).filter(|&node| self.nodes[node as usize].kind == kind).collect()
    }

    /// The amount of each resource that jobs hold on a node.
    fn used_on(&self, node: u32) -> &[i64] {
        let resources = self.used.len() / self.nodes.len();
        &self.used[node as usize * resources..][..resources]
    }

    /// Current power of a node, watts.
    fn watts_of(&self, node: u32) -> f64 {
        let at = &self.nodes[node as usize];
        let Some(_) = self.rated_kind(at.kind) else { return at.watts };
        let draw = &self.draws[at.kind as usize];
        let units = draw.per_unit.iter().zip(self.used_on(node));
        draw.watts(at.mode) + units.map(|(watts, &used)| watts * used as f64).sum::<f64>()
    }

    /// The rates of a kind of node, if they matter.
    fn rated_kind(&self, kind: u32) -> Option<&RatedPower> {
        self.rated.as_deref().filter(|rated| rated.has(kind))
    }

    /// Joules of a node since it was last settled, and the share per job of its additional power for being busy.
    fn spending(&self, node: u32, now: f64) -> (f64, f64) {
        let at = &self.nodes[node as usize];
        let (draw, elapsed) = (&self.draws[at.kind as usize], now - at.since);
        let (drawn, more) = match self.rated_kind(at.kind) {
            None => (at.watts * elapsed, (draw.busy - draw.idle) / f64::from(at.jobs) * elapsed),
            Some(rated) => {
                let (drawn, more) = rated.since(draw, at.kind, node, at.mode, self.used_on(node), now);
                (drawn, more / f64::from(at.jobs))
            }
        };
        (drawn, if at.mode == Mode::Busy { more } else { 0.0 })
    }

    /// Updates the integrals and the temperature of a node.
    fn settle(&mut self, node: u32, now: f64) {
        let elapsed = now - self.nodes[node as usize].since;
        if elapsed > 0.0 {
            let (drawn, shared) = self.spending(node, now);
            let at = &mut self.nodes[node as usize];
            at.shared += shared;
            at.away = at.away_at(now);
            at.energy += drawn;
            self.spent[at.kind as usize][at.mode.place()].add(drawn, elapsed);
            at.warm(self.warming.get(at.kind as usize), now);
            at.since = now;
        }
    }

    /// Resets the base of the integrals of a node that was settled just now.
    fn rebase(&mut self, node: u32, now: f64) {
        let at = &self.nodes[node as usize];
        let resources = self.used.len() / self.nodes.len();
        let used = &self.used[node as usize * resources..][..resources];
        if let Some(rated) = &mut self.rated {
            rated.rebase(&self.draws[at.kind as usize], at.kind, node, at.mode, used, now);
        }
    }

    /// Updates the meter after a job started on a placement that the machine has already allocated.
    pub fn started(&mut self, view: View<'_>, job: u32, placement: &[NodeTasks]) {
        for part in placement {
            self.changed(view, part.node);
        }
        self.shared_before.extend_to(job as usize + 1, &f64::NAN);
        self.energy_of_jobs.extend_to(job as usize + 1, &0.0);
        let shared =
            self.shared_on(&view.state.machine, view.request(job), placement, view.integrated_until());
        *self.shared_before.get_mut(job as usize) = shared;
    }

    /// Updates the meter before a job, running since `start`, releases its placement.
    pub fn ends(
        &mut self,
        machine: &Machine,
        request: &Request,
        job: u32,
        placement: &[NodeTasks],
        start: f64,
        now: f64,
    ) {
        let energy = self.energy_of_run(machine, request, job, placement, start, now);
        *self.energy_of_jobs.get_mut(job as usize) += energy;
        *self.shared_before.get_mut(job as usize) = f64::NAN;
    }

    /// Prepares a clone that shares the records.
    pub fn share(&mut self) {
        self.energy_of_jobs.share();
        self.shared_before.share();
        self.times.share();
        self.powers.share();
    }

    /// Returns whether the meter has recorded the job as running.
    #[must_use]
    pub fn runs(&self, job: u32) -> bool {
        (job as usize) < self.shared_before.len() && !self.shared_before.get(job as usize).is_nan()
    }

    /// Current power of all nodes, watts.
    #[must_use]
    pub fn power(&self) -> f64 {
        self.draws.iter().zip(&self.tallies).map(|(draw, tally)| tally.power(draw)).sum()
    }

    /// The power after a hypothetical start of a job on a placement, which must fit.
    #[must_use]
    pub fn power_with(&self, view: View<'_>, job: u32, placement: &[NodeTasks]) -> f64 {
        let (machine, request) = (&view.state.machine, view.request(job));
        let mut tallies = self.tallies.clone();
        for &part in placement {
            let node = &self.nodes[part.node as usize];
            let tally = &mut tallies[node.kind as usize];
            *tally.count(node.mode) -= 1;
            let mode = Mode::of(view.power_state_with_job(part.node), 1, false);
            *tally.count(mode) += 1;
            if mode != Mode::Busy {
                continue;
            }
            for (resource, used) in tally.used.iter_mut().enumerate() {
                *used += machine.held(request, part, resource);
            }
        }
        self.draws.iter().zip(&tallies).map(|(draw, tally)| tally.power(draw)).sum()
    }

    /// Energy of all nodes so far, joules.
    #[must_use]
    pub fn energy(&self, now: f64) -> f64 {
        self.energy + self.power() * (now - self.now)
    }

    /// Current power of each node, watts.
    #[must_use]
    pub fn node_power(&self) -> Vec<f64> {
        (0..self.nodes.len() as u32).map(|node| self.watts_of(node)).collect()
    }

    /// Energy of each node so far, joules.
    #[must_use]
    pub fn node_energy(&self, now: f64) -> Vec<f64> {
        let energy = |(place, node): (usize, &Node)| node.energy + self.spending(place as u32, now).0;
        self.nodes.iter().enumerate().map(energy).collect()
    }

    /// Energy and time of the nodes of each kind in each mode so far: idle, busy, drained, then the power states other
    /// than on.
    #[must_use]
    pub fn spent(&self, now: f64) -> Vec<Vec<Spent>> {
        let mut spent = self.spent.clone();
        for (place, node) in self.nodes.iter().enumerate() {
            let drawn = self.spending(place as u32, now).0;
            spent[node.kind as usize][node.mode.place()].add(drawn, now - node.since);
        }
        spent
    }

    /// Temperature of each node now and its maximum so far, degrees Celsius; empty if temperatures are not computed.
    #[must_use]
    pub fn temperatures(&self, now: f64) -> (Vec<f64>, Vec<f64>) {
        let settled = |node: &Node| {
            let mut node = node.clone();
            node.warm(self.warming.get(node.kind as usize), now);
            (node.temperature, node.warmest)
        };
        if self.warming.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            self.nodes.iter().map(settled).unzip()
        }
    }

    /// Energy of the job's past runs, joules.
    #[must_use]
    pub fn energy_of_job(&self, job: u32) -> f64 {
        if (job as usize) < self.energy_of_jobs.len() { *self.energy_of_jobs.get(job as usize) } else { 0.0 }
    }

    /// Energy so far of a run that began at `start` on a placement, joules: the energy of the held amounts, and its
    /// equal share of each node's additional power for being busy.
    #[must_use]
    pub fn energy_of_run(
        &self,
        machine: &Machine,
        request: &Request,
        job: u32,
        placement: &[NodeTasks],
        start: f64,
        now: f64,
    ) -> f64 {
        let mut watts = 0.0;
        for &part in placement {
            let kind = self.nodes[part.node as usize].kind;
            if self.rated_kind(kind).is_some() {
                continue;
            }
            let draw = &self.draws[kind as usize];
            for (resource, per_unit) in draw.per_unit.iter().enumerate() {
                watts += per_unit * machine.held(request, part, resource) as f64;
            }
        }
        let shared = self.shared_on(machine, request, placement, now);
        watts * (now - start) + (shared - self.shared_before.get(job as usize))
    }

    /// The sum of the nodes' shares per job, minus the energy that a job with this request would have used during their
    /// sleep. For kinds with rates, plus all energy of its units.
    fn shared_on(&self, machine: &Machine, request: &Request, placement: &[NodeTasks], now: f64) -> f64 {
        let shared = |&part: &NodeTasks| {
            let node = &self.nodes[part.node as usize];
            let draw = &self.draws[node.kind as usize];
            let shared = node.shared + self.spending(part.node, now).1;
            if let Some(rated) = self.rated_kind(node.kind) {
                let held = |resource| machine.held(request, part, resource) as f64;
                return shared + rated.of_units(draw, node.kind, part.node, node.mode, held, now);
            }
            if draw.asleep.is_empty() {
                return shared;
            }
            let units = draw.per_unit.iter().enumerate();
            let watts = units.map(|(resource, watts)| watts * machine.held(request, part, resource) as f64);
            shared - watts.sum::<f64>() * node.away_at(now)
        };
        placement.iter().map(shared).sum()
    }

    /// Records the energy of the machine up to now.
    fn advance(&mut self, now: f64) {
        if now > self.now {
            let power = self.power();
            if self.powers.last().is_none_or(|last| last.total_cmp(&power).is_ne()) {
                self.times.push(self.now);
                self.powers.push(power);
            }
            self.energy += power * (now - self.now);
            self.now = now;
        }
    }

    /// The power as a step function: times, and watts from each time on; the last time is now.
    #[must_use]
    pub fn steps(&self, now: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut times, mut powers) = (self.times.to_vec(), self.powers.to_vec());
        let power = self.power();
        if powers.last().is_none_or(|last| last.total_cmp(&power).is_ne()) {
            times.push(self.now);
            powers.push(power);
        }
        if times.last().is_some_and(|&last| last < now) {
            times.push(now);
            powers.push(power);
        }
        (times, powers)
    }
}

impl Node {
    /// Seconds up to now in which the node was not on.
    fn away_at(&self, now: f64) -> f64 {
        if self.mode.is_away() { self.away + (now - self.since) } else { self.away }
    }

    /// Updates the temperature.
    fn warm(&mut self, warming: Option<&ThermalModel>, now: f64) {
        let elapsed = now - self.since;
        if elapsed > 0.0
            && let Some(warming) = warming
        {
            // dT/dt = (P·R − (T − ambient)) / (R·C), solved exactly for constant P.
            let settled = warming.ambient + self.watts * warming.resistance;
            let left = libm::exp(-elapsed / (warming.resistance * warming.capacity));
            self.temperature = settled + (self.temperature - settled) * left;
            self.warmest = self.warmest.max(self.temperature);
        }
    }
}
