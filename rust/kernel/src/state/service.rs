//! Service under rate control (S19): current rates, the clocks that serve running jobs, the number of present jobs, and
//! their remaining work.
//!
//! Jobs on nodes of the same controls share a clock, so that a rate change costs O(clocks), for any number of jobs. The
//! workload is stored as a value and a slope: O(1) per event.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::control::{ControlRule, KeyEvent, RateControl, Seen, Service};
use crate::execution::FixedWork;
use crate::scenario::Scenario;
use crate::time::Time;
use crate::workload::JobState;

use super::{Phase, State};

/// State of a control.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Controlled {
    level: usize,
    /// Rate of its nodes: the rate of the level, unless it was set from outside.
    rate: f64,
    /// Number of arrivals and departures so far.
    coins: u64,
    /// Time of its latest event, and the workload then.
    event_time: f64,
    event_workload: [f64; 2],
    /// Time of the next look at the load by a governor; infinite without one.
    look: f64,
    load: Load,
}

/// Load of the nodes of a governor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Load {
    /// Busy processors of its nodes.
    busy: f64,
    since: f64,
    /// Processor-seconds since the last look, at `began`.
    area: f64,
    began: f64,
    utilisation: f64,
}

/// Runs on nodes of the same controls, served by the clock with the same index.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Clocked {
    controls: Vec<u32>,
    jobs: u64,
    processors: f64,
}

/// State of service in a run with rate control.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceState {
    /// True if arrivals, departures and remaining work are tracked: unless all rates are constant and nothing is
    /// recorded.
    follows: bool,
    controls: Vec<Controlled>,
    clocked: Vec<Clocked>,
    /// Runs without a clock, by index: their own rate, and the rate times their processors. Zero for runs without work.
    own: BTreeMap<u32, [f64; 2]>,
    present: u64,
    /// Processors that jobs hold.
    busy: f64,
    /// Remaining work of the present jobs, unweighted and weighted by processors, at `since`.
    workload: [f64; 2],
    since: f64,
    /// Time from which governors look.
    origin: f64,
}

/// A changed rate: control and new rate.
pub type RateChange = (u32, f64);

impl ServiceState {
    /// Create the state before the first event, which is not before the origin. `are_recorded` is true if key events
    /// are recorded.
    #[must_use]
    pub fn new(service: &Service, are_recorded: bool, origin: f64) -> Self {
        let controlled = |control: &RateControl| Controlled {
            level: control.first,
            rate: control.rates[control.first],
            coins: 0,
            event_time: origin,
            event_workload: [0.0; 2],
            look: f64::INFINITY,
            load: Load { since: origin, began: origin, ..Load::default() },
        };
        let is_constant = |control: &RateControl| control.rule == ControlRule::Constant;
        Self {
            follows: are_recorded || !service.controls.iter().all(is_constant),
            controls: service.controls.iter().map(controlled).collect(),
            clocked: Vec::new(),
            own: BTreeMap::new(),
            present: 0,
            busy: 0.0,
            workload: [0.0; 2],
            since: origin,
            origin,
        }
    }

    /// Return the rate of the nodes of a control.
    #[must_use]
    pub fn rate(&self, control: u32) -> f64 {
        self.controls[control as usize].rate
    }

    /// Return whether arrivals, departures and remaining work are tracked.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Return the number of waiting and running jobs.
    #[must_use]
    pub fn present(&self) -> u64 {
        self.present
    }

    /// Return the number of processors that jobs hold.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.busy
    }

    /// Return the number of jobs in service.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.clocked.iter().map(|clocked| clocked.jobs).sum::<u64>() + self.own.len() as u64
    }

    /// Return the remaining work, unweighted and weighted by processors.
    #[must_use]
    pub fn workload_at(&self, now: f64, work: &FixedWork) -> [f64; 2] {
        let slope = self.slope(work);
        [0, 1].map(|weighted| self.workload[weighted] - slope[weighted] * (now - self.since))
    }

    /// Return how fast the workload decreases.
    fn slope(&self, work: &FixedWork) -> [f64; 2] {
        let mut slope = [0.0; 2];
        for (clock, clocked) in self.clocked.iter().enumerate() {
            let rate = work.clock(clock as u32).rate();
            slope[0] += clocked.jobs as f64 * rate;
            slope[1] += clocked.processors * rate;
        }
        for own in self.own.values() {
            slope[0] += own[0];
            slope[1] += own[1];
        }
        slope
    }

    fn settle(&mut self, now: f64, work: &FixedWork) {
        if now > self.since {
            self.workload = self.workload_at(now, work);
            self.since = now;
        }
    }

    /// Add remaining work of jobs; may be negative.
    fn add(&mut self, amount: f64, processors: f64) {
        self.workload[0] += amount;
        self.workload[1] += amount * processors;
    }

    /// Return the clock of a job on these nodes; add it if it is the first there. O(nodes), or O(1) if one control has
    /// all nodes.
    fn clock_for(&mut self, service: &Service, placement: &[NodeTasks], work: &mut FixedWork) -> u32 {
        if service.control_of_node.is_empty() && !self.clocked.is_empty() {
            return 0;
        }
        let controls = service.controls_of(placement);
        if let Some(clock) = self.clocked.iter().position(|clocked| clocked.controls == controls) {
            return clock as u32;
        }
        let rate = self.slowest(&controls);
        self.clocked.push(Clocked { controls, jobs: 0, processors: 0.0 });
        work.add_clock(rate)
    }

    /// Return the rate of a job on nodes of these controls; nodes without a control have rate 1.
    fn slowest(&self, controls: &[u32]) -> f64 {
        let rates =
            controls.iter().map(|&control| self.controls.get(control as usize).map_or(1.0, |own| own.rate));
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Set the rate of the nodes of a control. Return whether it changed. O(clocks).
    fn set_rate(&mut self, now: f64, control: u32, rate: f64, work: &mut FixedWork) -> bool {
        if Time(self.rate(control)) == Time(rate) {
            return false;
        }
        self.settle(now, work);
        self.controls[control as usize].rate = rate;
        for clock in 0..self.clocked.len() {
            if self.clocked[clock].controls.contains(&control) {
                let slowest = self.slowest(&self.clocked[clock].controls);
                work.set_clock_rate(now, clock as u32, slowest);
            }
        }
        true
    }

    /// Return when the next control switches by itself; infinite if none does. O(controls).
    #[must_use]
    pub fn next_switch(&self, service: &Service, work: &FixedWork) -> f64 {
        if !self.follows {
            return f64::INFINITY;
        }
        let times = (0..self.controls.len()).map(|control| self.switch_of(service, control, work));
        times.fold(f64::INFINITY, f64::min)
    }

    /// Return when a control switches by itself, or when its governor looks at the load.
    fn switch_of(&self, service: &Service, control: usize, work: &FixedWork) -> f64 {
        let controlled = &self.controls[control];
        let Some((rule, threshold)) = service.controls[control].descent(controlled.level) else {
            return controlled.look;
        };
        let weighted = usize::from(rule.weighted);
        let (since, workload, slope) = if rule.printed {
            (controlled.event_time, controlled.event_workload[weighted], controlled.rate)
        } else {
            (self.since, self.workload[weighted], self.slope(work)[weighted])
        };
        if slope > 0.0 && workload > threshold {
            since + (workload - threshold) / slope
        } else {
            f64::INFINITY
        }
    }

    /// Return the input of a control's rule after an event.
    fn seen(&self, service: &Service, control: usize, event: KeyEvent) -> Seen {
        let rule = &service.controls[control].rule;
        let load = &self.controls[control].load;
        let elapsed = load.since - load.began;
        let capacity = service.processors.get(control).copied().unwrap_or_default();
        Seen {
            event,
            present: self.present,
            workload: self.workload[usize::from(rule.is_weighted())],
            busy: if elapsed > 0.0 && capacity > 0.0 { load.area / elapsed / capacity } else { 0.0 },
            utilisation: load.utilisation,
        }
    }

    /// Apply an event to one control. Return the rate of its new level if the level changed.
    fn follow(&mut self, service: &Service, control: usize, now: f64, event: KeyEvent) -> Option<RateChange> {
        let rules = &service.controls[control];
        if event == KeyEvent::Look {
            self.settle_load(service, control, now);
        }
        let seen = self.seen(service, control, event);
        let own = &mut self.controls[control];
        let number = own.coins;
        own.coins += u64::from(matches!(event, KeyEvent::Arrival | KeyEvent::Departure));
        let level = match event {
            // The workload is at the threshold by construction, up to rounding.
            KeyEvent::Switch => own.level - 1,
            _ => rules.level_after(own.level, &seen, rules.rule.coin(number)),
        };
        let has_changed = level != own.level;
        own.level = level;
        own.event_time = now;
        own.event_workload = self.workload;
        has_changed.then(|| (control as u32, rules.rates[level]))
    }

    /// Schedule the next look of a governor while jobs are served or its level is above the lowest.
    fn arm(&mut self, service: &Service, control: usize, now: f64) {
        let Some(governor) = service.controls[control].governor() else { return };
        let is_at_work =
            self.clocked.iter().any(|clocked| clocked.jobs > 0) || self.own.values().any(|own| own[0] > 0.0);
        let own = &mut self.controls[control];
        if own.look > now && own.look < f64::INFINITY {
            return;
        }
        let is_looked_at = is_at_work || own.level > 0;
        if own.look == f64::INFINITY && is_looked_at {
            // Earlier idle time does not count as load.
            own.load.began = own.load.since.max(now);
            own.load.area = 0.0;
        }
        own.look = if is_looked_at { governor.next_look(now, self.origin) } else { f64::INFINITY };
    }

    fn settle_load(&mut self, service: &Service, control: usize, now: f64) {
        let Some(governor) = service.controls[control].governor() else { return };
        let capacity = service.processors.get(control).copied().unwrap_or_default();
        let rates = &service.controls[control].rates;
        let Controlled { load, rate, .. } = &mut self.controls[control];
        let elapsed = now - load.since;
        if elapsed > 0.0 && capacity > 0.0 {
            load.area += load.busy * elapsed;
            let share = load.busy / capacity * *rate / rates[rates.len() - 1];
            load.utilisation = governor.faded(load.utilisation, share, elapsed);
        }
        load.since = now;
    }
}

/// Return the state of the service if it is tracked.
fn following(service: &mut Option<Box<ServiceState>>) -> Option<&mut Box<ServiceState>> {
    service.as_mut().filter(|state| state.follows)
}

impl State {
    /// Begin the service of a job: by its clock now; without rate control at rate 1 from `begin` on.
    pub fn begin_service(&mut self, scenario: &Scenario, job: u32, run: u32, sequence: u64, begin: f64) {
        if let Some(time) = self.runs_until(scenario, job) {
            // The job has no work to serve, and ends when it is cancelled.
            self.work.stop(run);
            return self.work.end_at(begin, run, sequence, time.max(begin));
        }
        let (now, amount) = (self.now, self.jobs.work_left(job));
        let (Some(state), Some(service)) = (&mut self.service, &scenario.service) else {
            return self.work.start(begin, run, sequence, amount, 1.0);
        };
        if state.follows {
            state.settle(now, &self.work);
        }
        let clock = state.clock_for(service, self.jobs.placement(job), &mut self.work);
        self.work.start_on_clock(now, run, sequence, amount, clock);
        if !state.follows {
            return;
        }
        if self.work.clock_of(run).is_some() {
            let clocked = &mut state.clocked[clock as usize];
            clocked.jobs += 1;
            clocked.processors += scenario.processors(job);
        } else {
            state.own.insert(run, [0.0; 2]);
        }
        for control in 0..state.controls.len() {
            state.arm(service, control, now);
        }
    }

    /// Return when a job without a run time is cancelled. A look-ahead uses its estimate as run time instead.
    pub fn runs_until(&self, scenario: &Scenario, job: u32) -> Option<f64> {
        scenario.attributes.cancelled_at(job).filter(|_| !self.assumes_estimates)
    }

    /// Stop tracking the service of a job that ends, or continues at another rate.
    pub fn end_service(&mut self, scenario: &Scenario, job: u32) {
        let Some(state) = following(&mut self.service) else { return };
        let Some(run) = self.jobs.run(job) else { return };
        if let Some(clock) = self.work.clock_of(run) {
            state.settle(self.now, &self.work);
            let clocked = &mut state.clocked[clock as usize];
            clocked.jobs -= 1;
            clocked.processors -= scenario.processors(job);
        } else if state.own.contains_key(&run) {
            state.settle(self.now, &self.work);
            state.own.remove(&run);
        }
    }

    /// Serve a running job at its own rate from now on, independently of its nodes.
    pub fn serve_at(&mut self, scenario: &Scenario, job: u32, run: u32, sequence: u64, rate: f64) {
        self.end_service(scenario, job);
        self.work.set_rate(self.now, run, sequence, rate);
        if let Some(state) = following(&mut self.service) {
            state.settle(self.now, &self.work);
            state.own.insert(run, [rate, rate * scenario.processors(job)]);
        }
    }

    /// Return the remaining work of a job; 0 if it has an application, has no run time, or is over.
    fn remaining(&self, scenario: &Scenario, job: u32) -> f64 {
        let has_application =
            scenario.application_job(job).is_some_and(|carried| carried.application.is_some());
        if has_application || self.runs_until(scenario, job).is_some() {
            return 0.0;
        }
        match (self.jobs.state(job), self.jobs.run(job)) {
            (JobState::Queued, _) => self.jobs.work_left(job),
            (JobState::Running, Some(run)) => match self.running.get(run).phase {
                Phase::Launching => self.jobs.work_left(job),
                Phase::Running => self.work.left(self.now, run),
                Phase::Suspending => {
                    let done = self.suspension(job).map_or(0.0, |each| each.done);
                    (self.jobs.work_left(job) - done).max(0.0)
                }
                Phase::Completing(_) => 0.0,
            },
            _ => 0.0,
        }
    }

    /// Return the remaining work of a job now; None if it is not tracked.
    pub fn work_remaining(&self, scenario: &Scenario, job: u32) -> Option<f64> {
        let is_asked = self.service.as_ref().is_some_and(|state| state.follows);
        is_asked.then(|| self.remaining(scenario, job))
    }

    /// Change the remaining work of a present job by this amount.
    pub fn change_work(&mut self, scenario: &Scenario, job: u32, amount: f64) {
        if let Some(state) = following(&mut self.service) {
            state.settle(self.now, &self.work);
            state.add(amount, scenario.processors(job));
        }
    }

    /// Stop the service of a running job and discard its remaining work.
    pub fn forgo_work(&mut self, scenario: &Scenario, job: u32) {
        if let Some(left) = self.work_remaining(scenario, job) {
            self.change_work(scenario, job, -left);
            self.end_service(scenario, job);
        }
    }

    /// Record that a job arrives, or departs with its remaining work. Return the rates that change.
    pub fn count_present(&mut self, scenario: &Scenario, job: u32, event: KeyEvent) -> Vec<RateChange> {
        let left = self.remaining(scenario, job);
        let (Some(state), Some(service)) = (&mut self.service, &scenario.service) else { return Vec::new() };
        state.settle(self.now, &self.work);
        if event == KeyEvent::Arrival {
            state.present += 1;
            state.add(left, scenario.processors(job));
        } else {
            state.present -= 1;
            state.add(-left, scenario.processors(job));
            if state.present == 0 {
                // Remove accumulated rounding errors.
                state.workload = [0.0; 2];
            }
        }
        let now = self.now;
        let changes =
            (0..state.controls.len()).filter_map(|control| state.follow(service, control, now, event));
        let changes: Vec<RateChange> = changes.collect();
        self.set_rates(&changes);
        changes
    }

    /// Process the controls that switch or look by now. Return the rates that change.
    pub fn switch_rates(&mut self, scenario: &Scenario) -> Vec<RateChange> {
        let (Some(state), Some(service)) = (&mut self.service, &scenario.service) else { return Vec::new() };
        let now = self.now;
        let mut changes = Vec::new();
        for control in 0..state.controls.len() {
            if state.switch_of(service, control, &self.work) > now {
                continue;
            }
            let looks = service.controls[control].governor().is_some();
            state.settle(now, &self.work);
            let event = if looks { KeyEvent::Look } else { KeyEvent::Switch };
            changes.extend(state.follow(service, control, now, event));
            if looks {
                state.controls[control].load.area = 0.0;
                state.controls[control].load.began = now;
                state.arm(service, control, now);
            }
        }
        self.set_rates(&changes);
        changes
    }

    /// Set the rate of the nodes of a control. Return whether it changed.
    pub fn set_rate(&mut self, control: u32, rate: f64) -> bool {
        self.service.as_mut().is_some_and(|state| state.set_rate(self.now, control, rate, &mut self.work))
    }

    fn set_rates(&mut self, changes: &[RateChange]) {
        for &(control, rate) in changes {
            self.set_rate(control, rate);
        }
    }

    /// Record for governors that a job takes (`sign` 1) or releases (−1) its nodes. O(nodes), O(1) without governors.
    pub fn count_busy(&mut self, scenario: &Scenario, job: u32, sign: f64) {
        let Some(state) = following(&mut self.service) else { return };
        let Some(service) = &scenario.service else { return };
        state.busy += sign * scenario.processors(job);
        if service.processors.is_empty() {
            return;
        }
        for &part in self.jobs.placement(job) {
            let Some(control) = service.control_of(part.node) else { continue };
            let held = match scenario.core {
                Some(core) => self.machine.held(scenario.request(job), part, core) as f64,
                None => f64::from(part.tasks),
            };
            state.settle_load(service, control as usize, self.now);
            state.controls[control as usize].load.busy += sign * held;
        }
    }
}
