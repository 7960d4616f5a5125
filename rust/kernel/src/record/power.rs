//! A meter: the power that nodes draw by what is in use on them, whose energy that is, and how warm they get.
//!
//! A change on a node costs O(resources), the power of the machine O(groups × resources): it is computed from whole
//! counts, so that it depends on the placement of jobs alone and not on the way there, and a start that is only supposed gives
//! the very number that it gives when it is made.
//!
//! What a node draws follows from its mode: idle, busy or drained where it is on, else its power state (S21).
use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, Request};
use crate::index::SharedColumn;
use crate::state::View;

use super::power_model::{Mode, PowerModel, Spent, Tally, ThermalModel};
use super::power_rates::{PricedKind, RatedPower};

/// A node as it has been since `since`.
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
    /// Joules of one equal share of what the node draws more for being busy, since it became so.
    shared: f64,
    /// Degrees Celsius at `since`, and the most so far.
    temperature: f64,
    warmest: f64,
}

/// The meter of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerMeter {
    /// What the nodes of each kind draw, at the present rate where that matters.
    draws: Vec<PowerModel>,
    /// The kinds of which the rate matters, where there are some.
    rated: Option<Box<RatedPower>>,
    warming: Vec<ThermalModel>,
    tallies: Vec<Tally>,
    /// What was spent in each mode until each node's `since`, by kind.
    spent: Vec<Vec<Spent>>,
    nodes: Vec<Node>,
    /// What jobs hold of each resource, node-major.
    used: Vec<i64>,
    now: f64,
    energy: f64,
    /// Joules of each job's runs that are over.
    energy_of_jobs: SharedColumn<f64>,
    /// The placement of the nodes of a running job, added up, when it started; NaN where it does not run.
    shared_before: SharedColumn<f64>,
    /// The power as a step function: watts from each time on, the present ones excepted.
    times: SharedColumn<f64>,
    powers: SharedColumn<f64>,
}

impl PowerMeter {
    /// A meter put on a machine: `kinds` gives each node's place in `priced`, which are not empty.
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

    /// Also tells how warm the nodes get, from `initial` degrees Celsius on; one entry per kind of node.
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

    /// Takes note of what has changed on a node, at this time.
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

    /// Takes note of another rate of the nodes of a control. O(kinds), but with temperatures O(nodes of those that change).
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

    /// Whether it is given what the nodes of a control draw at this rate.
    #[must_use]
    pub fn knows_rate(&self, control: u32, rate: f64) -> bool {
        self.rated.as_ref().is_none_or(|rated| rated.knows(control, rate))
    }

    fn nodes_of(&self, kind: u32) -> Vec<u32> {
        (0..self.nodes.len() as u32).filter(|&node| self.nodes[node as usize].kind == kind).collect()
    }

    /// What jobs hold on a node of each resource.
    fn used_on(&self, node: u32) -> &[i64] {
        let resources = self.used.len() / self.nodes.len();
        &self.used[node as usize * resources..][..resources]
    }

    /// Watts of a node now.
    fn watts_of(&self, node: u32) -> f64 {
        let at = &self.nodes[node as usize];
        let Some(_) = self.rated_kind(at.kind) else { return at.watts };
        let draw = &self.draws[at.kind as usize];
        let units = draw.per_unit.iter().zip(self.used_on(node));
        draw.watts(at.mode) + units.map(|(watts, &used)| watts * used as f64).sum::<f64>()
    }

    /// What is known of the rates of a kind of node, if they matter.
    fn rated_kind(&self, kind: u32) -> Option<&RatedPower> {
        self.rated.as_deref().filter(|rated| rated.has(kind))
    }

    /// What a node drew since it was settled last, and one equal share of what it draws more for being busy, in joules.
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

    /// Brings what adds up of a node, and what gets warm, up to date.
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

    /// Has a node that was settled now count from now on.
    fn rebase(&mut self, node: u32, now: f64) {
        let at = &self.nodes[node as usize];
        let resources = self.used.len() / self.nodes.len();
        let used = &self.used[node as usize * resources..][..resources];
        if let Some(rated) = &mut self.rated {
            rated.rebase(&self.draws[at.kind as usize], at.kind, node, at.mode, used, now);
        }
    }

    /// Takes note that a job has started on these placement, of which the machine knows.
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

    /// Takes note that a job, which still is where it has been since `start`, is about to go.
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

    /// Lets the next clone share what is recorded.
    pub fn share(&mut self) {
        self.energy_of_jobs.share();
        self.shared_before.share();
        self.times.share();
        self.powers.share();
    }

    /// Whether the job runs, as far as the meter knows.
    #[must_use]
    pub fn runs(&self, job: u32) -> bool {
        (job as usize) < self.shared_before.len() && !self.shared_before.get(job as usize).is_nan()
    }

    /// Watts now, of all nodes.
    #[must_use]
    pub fn power(&self) -> f64 {
        self.draws.iter().zip(&self.tallies).map(|(draw, tally)| tally.power(draw)).sum()
    }

    /// What the power would be once a job has started on these placement, which have room.
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

    /// Joules so far, of all nodes.
    #[must_use]
    pub fn energy(&self, now: f64) -> f64 {
        self.energy + self.power() * (now - self.now)
    }

    /// Watts now, node by node.
    #[must_use]
    pub fn node_power(&self) -> Vec<f64> {
        (0..self.nodes.len() as u32).map(|node| self.watts_of(node)).collect()
    }

    /// Joules so far, node by node.
    #[must_use]
    pub fn node_energy(&self, now: f64) -> Vec<f64> {
        let energy = |(place, node): (usize, &Node)| node.energy + self.spending(place as u32, now).0;
        self.nodes.iter().enumerate().map(energy).collect()
    }

    /// What the nodes of each kind have spent in each mode so far: idle, busy, drained, then in the power states but on.
    #[must_use]
    pub fn spent(&self, now: f64) -> Vec<Vec<Spent>> {
        let mut spent = self.spent.clone();
        for (place, node) in self.nodes.iter().enumerate() {
            let drawn = self.spending(place as u32, now).0;
            spent[node.kind as usize][node.mode.place()].add(drawn, now - node.since);
        }
        spent
    }

    /// Degrees Celsius now and the most so far, node by node; empty where no temperature is computed.
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

    /// Joules of the job's runs that are over.
    #[must_use]
    pub fn energy_of_job(&self, job: u32) -> f64 {
        if (job as usize) < self.energy_of_jobs.len() { *self.energy_of_jobs.get(job as usize) } else { 0.0 }
    }

    /// Joules so far of a run that began at `start` on these placement: those of what the job holds, and its equal share of
    /// what each node draws more for being busy.
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

    /// The equal shares of nodes added up, less what a job with this request would have drawn there, had they been on. Where
    /// the rate matters, with all that it would have drawn there.
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

    /// What the machine drew until now is written down.
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
    /// Seconds until now in which the node was not on.
    fn away_at(&self, now: f64) -> f64 {
        if self.mode.is_away() { self.away + (now - self.since) } else { self.away }
    }

    /// Brings what gets warm up to date.
    fn warm(&mut self, warming: Option<&ThermalModel>, now: f64) {
        let elapsed = now - self.since;
        if elapsed > 0.0
            && let Some(warming) = warming
        {
            // dT/dt = (P·R − (T − ambient)) / (R·C), solved exactly as long as P stays.
            let settled = warming.ambient + self.watts * warming.resistance;
            let left = libm::exp(-elapsed / (warming.resistance * warming.capacity));
            self.temperature = settled + (self.temperature - settled) * left;
            self.warmest = self.warmest.max(self.temperature);
        }
    }
}
