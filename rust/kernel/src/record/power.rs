//! A meter: the power that nodes draw by what is in use on them, whose energy that is, and how warm they get.
//!
//! A change on a node costs O(resources), the power of the machine O(groups × resources): it is computed from whole
//! counts, so that it depends on the placement of jobs alone and not on the way there, and a start that is only supposed gives
//! the very number that it gives when it is made.
//!
//! What a node draws follows from its mode: idle, busy or drained where it is on, else its power state (S21).
use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, PowerState, Request};
use crate::index::SharedColumn;
use crate::state::View;

/// What a node of some kind draws, in watts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerModel {
    /// Open, with no job there.
    pub idle: f64,
    /// With a job there, whatever it uses; at least as much as idle.
    pub busy: f64,
    /// Drained, with no job there.
    pub drained: f64,
    /// More for each unit of each resource that jobs hold.
    pub per_unit: Vec<f64>,
    /// In each power state but on, by its number less 1, whatever jobs hold there.
    pub asleep: Vec<f64>,
}

impl PowerModel {
    /// Watts in a mode, besides what is drawn for each unit.
    fn watts(&self, mode: Mode) -> f64 {
        match mode {
            Mode::Idle => self.idle,
            Mode::Busy => self.busy,
            Mode::Drained => self.drained,
            Mode::Asleep(place) => self.asleep[place],
        }
    }
}

/// What a node does, as far as it matters for what it draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    Idle,
    Busy,
    Drained,
    /// In a power state other than on, by its number less 1.
    Asleep(usize),
}

impl Mode {
    fn of(state: PowerState, jobs: u32, drained: bool) -> Self {
        match (state.number().checked_sub(1), jobs, drained) {
            (Some(place), ..) => Self::Asleep(place),
            (None, 0, true) => Self::Drained,
            (None, 0, false) => Self::Idle,
            (None, ..) => Self::Busy,
        }
    }

    /// Its place among all modes of a kind of node.
    fn place(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Busy => 1,
            Self::Drained => 2,
            Self::Asleep(place) => 3 + place,
        }
    }
}

/// What the nodes of one kind have spent in one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Joules.
    pub energy: f64,
    /// Seconds, of all nodes.
    pub seconds: f64,
}

impl Spent {
    fn add(&mut self, watts: f64, seconds: f64) {
        self.energy += watts * seconds;
        self.seconds += seconds;
    }
}

/// How a node of some kind gets warm: as a resistor and a capacitor do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermalModel {
    /// Kelvin per watt between the node and what is around it.
    pub resistance: f64,
    /// Joules per kelvin.
    pub capacity: f64,
    /// What is around it, degrees Celsius.
    pub ambient: f64,
}

/// What the nodes of one kind do, counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tally {
    idle: i64,
    busy: i64,
    drained: i64,
    used: Vec<i64>,
    asleep: Vec<i64>,
}

impl Tally {
    /// Watts; rounding included, never less for more jobs on the same open nodes, so that the end of a job breaks no cap.
    fn power(&self, draw: &PowerModel) -> f64 {
        let mut power = draw.idle * (self.idle + self.busy) as f64;
        power += (draw.busy - draw.idle) * self.busy as f64;
        power += draw.drained * self.drained as f64;
        for (per_unit, &used) in draw.per_unit.iter().zip(&self.used) {
            power += per_unit * used as f64;
        }
        for (watts, &asleep) in draw.asleep.iter().zip(&self.asleep) {
            power += watts * asleep as f64;
        }
        power
    }

    fn count(&mut self, mode: Mode) -> &mut i64 {
        match mode {
            Mode::Idle => &mut self.idle,
            Mode::Busy => &mut self.busy,
            Mode::Drained => &mut self.drained,
            Mode::Asleep(place) => &mut self.asleep[place],
        }
    }
}

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
    draws: Vec<PowerModel>,
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
    /// A meter put on a machine: `kinds` gives each node's place in `draws`.
    #[must_use]
    pub fn new(view: View<'_>, kinds: &[u32], draws: Vec<PowerModel>) -> Self {
        let (now, machine) = (view.now(), &view.state.machine);
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
        for node in &mut self.nodes {
            node.settle(&self.draws, None, &mut self.spent, now);
            node.temperature = initial[node.kind as usize];
            node.warmest = node.temperature;
        }
        self.warming = warming;
    }

    /// Takes note of what has changed on a node, at this time.
    pub fn changed(&mut self, view: View<'_>, node: u32) {
        let (now, machine) = (view.now(), &view.state.machine);
        self.advance(now);
        let resources = machine.resources();
        let Self { draws, warming, tallies, spent, nodes, used, .. } = self;
        let at = &mut nodes[node as usize];
        at.settle(draws, warming.get(at.kind as usize), spent, now);
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
            let is_on = !matches!(at.mode, Mode::Asleep(_));
            let in_use = if is_on { machine.used(node, resource) } else { 0 };
            tally.used[resource] += in_use - *known;
            *known = in_use;
            at.watts += draw.per_unit[resource] * in_use as f64;
        }
    }

    /// Takes note that a job has started on these placement, of which the machine knows.
    pub fn started(&mut self, view: View<'_>, job: u32, placement: &[NodeTasks]) {
        for part in placement {
            self.changed(view, part.node);
        }
        self.shared_before.extend_to(job as usize + 1, &f64::NAN);
        self.energy_of_jobs.extend_to(job as usize + 1, &0.0);
        let shared = self.shared_on(&view.state.machine, view.request(job), placement, view.now());
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
        self.nodes.iter().map(|node| node.watts).collect()
    }

    /// Joules so far, node by node.
    #[must_use]
    pub fn node_energy(&self, now: f64) -> Vec<f64> {
        self.nodes.iter().map(|node| node.energy + node.watts * (now - node.since)).collect()
    }

    /// What the nodes of each kind have spent in each mode so far: idle, busy, drained, then in the power states but on.
    #[must_use]
    pub fn spent(&self, now: f64) -> Vec<Vec<Spent>> {
        let mut spent = self.spent.clone();
        for node in &self.nodes {
            spent[node.kind as usize][node.mode.place()].add(node.watts, now - node.since);
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
            let draw = &self.draws[self.nodes[part.node as usize].kind as usize];
            for (resource, per_unit) in draw.per_unit.iter().enumerate() {
                watts += per_unit * machine.held(request, part, resource) as f64;
            }
        }
        let shared = self.shared_on(machine, request, placement, now);
        watts * (now - start) + (shared - self.shared_before.get(job as usize))
    }

    /// The equal shares of nodes added up, less what a job with this request would have drawn there, had they been on.
    fn shared_on(&self, machine: &Machine, request: &Request, placement: &[NodeTasks], now: f64) -> f64 {
        let shared = |&part: &NodeTasks| {
            let node = &self.nodes[part.node as usize];
            let (draw, shared) = (&self.draws[node.kind as usize], node.shared_at(&self.draws, now));
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
    /// Joules of one equal share until now.
    fn shared_at(&self, draws: &[PowerModel], now: f64) -> f64 {
        if self.mode != Mode::Busy {
            return self.shared;
        }
        let draw = &draws[self.kind as usize];
        self.shared + (draw.busy - draw.idle) / f64::from(self.jobs) * (now - self.since)
    }

    /// Seconds until now in which the node was not on.
    fn away_at(&self, now: f64) -> f64 {
        if matches!(self.mode, Mode::Asleep(_)) { self.away + (now - self.since) } else { self.away }
    }

    /// Brings what adds up, and what gets warm, up to date.
    fn settle(
        &mut self,
        draws: &[PowerModel],
        warming: Option<&ThermalModel>,
        spent: &mut [Vec<Spent>],
        now: f64,
    ) {
        let elapsed = now - self.since;
        if elapsed > 0.0 {
            self.shared = self.shared_at(draws, now);
            self.away = self.away_at(now);
            self.energy += self.watts * elapsed;
            spent[self.kind as usize][self.mode.place()].add(self.watts, elapsed);
            self.warm(warming, now);
            self.since = now;
        }
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
