//! Availability over time: what running and reserved jobs leave free, node by node and in all.
//!
//! Each node has a short step function; the totals have one too, whose steps are the instants at which anything
//! begins or ends. With k steps on a node, holding or releasing it costs O(k), the totals O(B) for B instants and for
//! each node set. The earliest fit walks the totals of the job's own set once and looks at the nodes of this set only
//! where these admit the job.
use std::cell::Cell;
use std::sync::Arc;

use crate::cluster::machine::totals_of;
use crate::cluster::{Machine, NodeSets, Request, Room, room::load};
use crate::time::Time;
use crate::workload::jobs::Share;

use super::allocate::Placer;
use super::site::{Site, Wish};

/// Free amounts of every node over time.
#[derive(Clone, Debug)]
pub struct Profile {
    resources: usize,
    node_sets: Arc<NodeSets>,
    capacity: Vec<i64>,
    /// What the nodes offer of their capacities: less where part of the machine is withheld.
    offered: Vec<i64>,
    now: f64,
    nodes: Vec<Steps>,
    /// The totals of each node set, set-major; the last value counts what begins or ends there.
    totals: Steps,
    /// Until then some node may be promised twice, by a job that started late where it had been reserved. A negative
    /// amount there is as good as none, so the totals say too little.
    overcommitted_until: f64,
    /// The greatest total of each resource in each node set from now until each step, as far as it is known.
    peaks: Vec<i64>,
    /// What a change holds on one node and in each set, with room for the count that stands last.
    held_here: Vec<i64>,
    held_in_all: Vec<i64>,
}

/// A step function: at `times[i]` begin `width` values, which hold until the next time.
#[derive(Clone, Debug)]
struct Steps {
    width: usize,
    times: Vec<f64>,
    values: Vec<i64>,
}

impl Steps {
    fn new(values: Vec<i64>) -> Self {
        Self { width: values.len(), times: vec![f64::NEG_INFINITY], values }
    }

    fn at(&self, step: usize) -> &[i64] {
        &self.values[step * self.width..(step + 1) * self.width]
    }

    /// The step in force at `time`.
    fn find(&self, time: f64) -> usize {
        self.times.partition_point(|&begin| begin <= time) - 1
    }

    /// Forgets the steps that ended by `now`.
    fn trim(&mut self, now: f64) {
        let past = self.find(now);
        if past > 0 {
            self.times.drain(..past);
            self.values.drain(..past * self.width);
            self.times[0] = f64::NEG_INFINITY;
        }
    }

    /// The step that begins at `time`, or the first one where that is not later than `now`: the past does not matter.
    fn begin(&mut self, time: f64, now: f64) -> usize {
        if time <= now { 0 } else { self.split(time) }
    }

    /// The step that begins at `time`, which is made if there is none.
    fn split(&mut self, time: f64) -> usize {
        let step = self.find(time);
        if self.times[step].total_cmp(&time).is_eq() {
            return step;
        }
        self.times.insert(step + 1, time);
        let (from, end) = (step * self.width, self.values.len());
        self.values.extend_from_within(end - self.width..);
        self.values.copy_within(from..end - self.width, from + self.width);
        step + 1
    }

    /// Adds to the values of all steps of a range.
    fn add(&mut self, steps: std::ops::Range<usize>, amounts: &[i64], sign: i64) {
        for values in
            self.values[steps.start * self.width..steps.end * self.width].chunks_exact_mut(self.width)
        {
            for (value, amount) in values.iter_mut().zip(amounts) {
                *value += sign * amount;
            }
        }
    }

    /// Whether any of the first `count` values is negative in a range of steps.
    fn is_negative(&self, steps: std::ops::Range<usize>, count: usize) -> bool {
        steps.into_iter().any(|step| self.at(step)[..count].iter().any(|&value| value < 0))
    }

    /// Joins a step to the one before where they are alike.
    fn join(&mut self, step: usize) {
        if step > 0 && step < self.times.len() && self.at(step) == self.at(step - 1) {
            self.remove(step);
        }
    }

    fn remove(&mut self, step: usize) {
        self.times.remove(step);
        self.values.drain(step * self.width..(step + 1) * self.width);
    }
}

impl Profile {
    /// A profile of an empty machine: `capacity` is node-major.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self::of_offered(resources, capacity, capacity.to_vec(), node_sets)
    }

    /// A profile of what an empty machine offers.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> Self {
        Self::of_offered(machine.resources(), machine.capacity(), machine.offered(), machine.node_sets())
    }

    fn of_offered(resources: usize, capacity: &[i64], offered: Vec<i64>, node_sets: &Arc<NodeSets>) -> Self {
        // The last value counts the jobs there, negated, so that minima serve for it too.
        let of_node = |node: &[i64]| Steps::new(node.iter().copied().chain([0]).collect());
        let nodes = offered.chunks_exact(resources).map(of_node).collect();
        let mut totals = totals_of(resources, &offered, node_sets);
        // The last value counts what begins or ends there: a step of the totals stays while anything does.
        totals.push(0);
        Self {
            resources,
            node_sets: Arc::clone(node_sets),
            held_in_all: vec![0; totals.len()],
            capacity: capacity.to_vec(),
            offered,
            now: f64::NEG_INFINITY,
            nodes,
            overcommitted_until: f64::NEG_INFINITY,
            totals: Steps::new(totals),
            peaks: Vec::new(),
            held_here: vec![0; resources + 1],
        }
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Moves on; what is past is forgotten.
    pub fn advance(&mut self, now: f64) {
        self.now = now;
        if self.totals.find(now) > 0 {
            self.totals.trim(now);
            self.peaks.clear();
        }
    }

    /// Moves on to now; the running jobs hold their shares until their estimated ends.
    pub fn hold_running(&mut self, site: &Site) {
        self.advance(site.now);
        site.running.visit(&mut |end| {
            self.hold(site.request(end.job), site.jobs.placement(end.job), site.now, end.time.0);
            true
        });
    }

    /// A job holds its shares over [from, until).
    pub fn hold(&mut self, request: &Request, shares: &[Share], from: f64, until: f64) {
        self.change(request, shares, from, until, -1);
    }

    /// A job gives up its shares over [from, until), which it held.
    pub fn release(&mut self, request: &Request, shares: &[Share], from: f64, until: f64) {
        self.change(request, shares, from, until, 1);
    }

    fn change(&mut self, request: &Request, shares: &[Share], from: f64, until: f64, sign: i64) {
        if until <= from.max(self.now) {
            return;
        }
        let resources = self.resources;
        let mut totals = std::mem::take(&mut self.held_in_all);
        let mut amounts = std::mem::take(&mut self.held_here);
        totals.fill(0);
        for &share in shares {
            let offered = &self.offered[share.node as usize * resources..][..resources];
            for resource in 0..resources {
                let asked = request.amounts[resource] * i64::from(share.tasks);
                amounts[resource] = if request.exclusive { offered[resource] } else { asked };
                totals[resource] += amounts[resource];
            }
            for set in self.node_sets.others_of(share.node) {
                for (total, amount) in totals[set.block(resources)].iter_mut().zip(&amounts) {
                    *total += amount;
                }
            }
            amounts[resources] = 1;
            let node = &mut self.nodes[share.node as usize];
            node.trim(self.now);
            let first = node.begin(from, self.now);
            let last = node.split(until);
            node.add(first..last, &amounts, sign);
            if sign < 0 && node.is_negative(first..last, resources) {
                self.overcommitted_until = self.overcommitted_until.max(until);
            }
            node.join(last);
            node.join(first);
        }
        self.change_totals(&totals, from, until, sign);
        (self.held_in_all, self.held_here) = (totals, amounts);
    }

    fn change_totals(&mut self, totals: &[i64], from: f64, until: f64, sign: i64) {
        let first = if from <= self.now { 0 } else { self.marked_step(from) };
        let last = self.marked_step(until);
        self.totals.add(first..last, totals, sign);
        for step in [last, first] {
            // The first step is what is in force now: it stays.
            if step > 0 {
                let mark = self.mark(step);
                *mark -= sign;
                if *mark == 0 {
                    self.totals.remove(step);
                }
            }
        }
        self.peaks.truncate(first * (self.totals.width - 1));
    }

    /// The step of the totals that begins at `time`; a new one has no marks yet.
    fn marked_step(&mut self, time: f64) -> usize {
        let known = self.totals.times.len();
        let step = self.totals.split(time);
        if self.totals.times.len() > known {
            *self.mark(step) = 0;
        }
        step
    }

    /// How much begins or ends at a step of the totals.
    fn mark(&mut self, step: usize) -> &mut i64 {
        &mut self.totals.values[(step + 1) * self.totals.width - 1]
    }

    /// Whether at some instant in [now, before) the totals of the job's node set reach the needs: a necessary condition
    /// for a start there.
    #[must_use]
    pub fn may_start_before(&mut self, wish: &Wish<'_>, before: f64) -> bool {
        if self.now < self.overcommitted_until {
            return true;
        }
        let last = self.totals.times.partition_point(|&begin| begin < before);
        if last == 0 {
            return false;
        }
        let peaks = &mut self.peaks;
        let width = self.totals.width - 1;
        for step in peaks.len() / width..last {
            for value in 0..width {
                let total = self.totals.at(step)[value];
                let before = if step == 0 { total } else { peaks[(step - 1) * width + value] };
                peaks.push(total.max(before));
            }
        }
        let own = &peaks[(last - 1) * width..][wish.request.nodes.block(self.resources)];
        own.iter().enumerate().all(|(resource, &peak)| peak >= wish.need(resource))
    }

    /// The earliest instant in [now, before) at which the job fits for its whole duration, and its shares then.
    pub fn earliest(
        &self,
        wish: &Wish<'_>,
        before: f64,
        placer: &Placer,
        shares: &mut Vec<Share>,
    ) -> Option<f64> {
        self.earliest_within(wish, self.now, before, placer, shares)
    }

    /// The earliest instant in [from, before), where it is known that there is none in [now, from).
    pub fn earliest_within(
        &self,
        wish: &Wish<'_>,
        from: f64,
        before: f64,
        placer: &Placer,
        shares: &mut Vec<Share>,
    ) -> Option<f64> {
        let needs: Vec<i64> = (0..self.resources).map(|resource| wish.need(resource)).collect();
        let own = wish.request.nodes.block(self.resources);
        let lacks = |step: usize| {
            self.totals.at(step)[own.clone()].iter().zip(&needs).any(|(total, need)| total < need)
        };
        let count = self.totals.times.len();
        // Steps `step..admitted` are known to admit the job by the totals.
        let mut step = self.totals.find(from);
        let mut admitted = step;
        while step < count {
            let start = self.totals.times[step].max(self.now);
            if start >= before {
                return None;
            }
            let end = start + wish.duration;
            admitted = admitted.max(step);
            let obstacle = loop {
                if admitted >= count || (admitted > step && self.totals.times[admitted] >= end) {
                    break None;
                }
                let reliable = self.totals.times[admitted].max(self.now) >= self.overcommitted_until;
                if reliable && lacks(admitted) {
                    break Some(admitted);
                }
                admitted += 1;
            };
            if let Some(obstacle) = obstacle {
                step = obstacle + 1;
            } else if self.fits_at(wish, start, placer, shares) {
                return Some(start);
            } else {
                step = self.totals.find(self.not_before(wish, start)).max(step + 1);
            }
        }
        None
    }

    /// An instant before which the job does not fit, if it does not at `start`.
    ///
    /// A node admits more only once the last of its scarcest steps is over, and never more than when it is empty.
    fn not_before(&self, wish: &Wish<'_>, start: f64) -> f64 {
        let window = Window::new(self, start, start + wish.duration);
        let mut slots = 0;
        let mut gains = Vec::new();
        for node in self.node_sets.nodes_from(wish.request.nodes, 0) {
            let offered = &self.offered[node as usize * self.resources..][..self.resources];
            let (admitted, until) = window.scarcest(node, wish.request);
            slots += u64::from(admitted);
            gains.push((Time(until), u64::from(wish.request.slots(offered, true).saturating_sub(admitted))));
        }
        gains.retain(|&(_, gain)| gain > 0);
        gains.sort_unstable();
        for (time, gain) in gains {
            if slots >= u64::from(wish.tasks) {
                break;
            }
            slots += gain;
            if slots >= u64::from(wish.tasks) {
                return time.0;
            }
        }
        start
    }

    /// The instants in [now, before) from which the node has a slot for the job's whole duration, some of it within
    /// [begin, end): the earliest such instant, and one by which there are none later.
    #[must_use]
    pub fn starts_on(
        &self,
        node: u32,
        wish: &Wish<'_>,
        within: (f64, f64),
        before: f64,
    ) -> Option<(f64, f64)> {
        if !self.node_sets.contains(wish.request.nodes, node) {
            return None;
        }
        let (begin, end) = within;
        let steps = &self.nodes[node as usize];
        let last_start = before.min(end);
        let mut span: Option<(f64, f64)> = None;
        let mut run_begin = f64::NAN;
        for step in steps.find(self.now)..=steps.times.len() {
            let time = steps.times.get(step).map_or(f64::INFINITY, |time| time.max(self.now));
            let has_slot = step < steps.times.len() && slots_of_step(wish.request, steps.at(step)) > 0;
            if has_slot && run_begin.is_nan() {
                if time >= last_start {
                    break;
                }
                run_begin = time;
            } else if !has_slot && !run_begin.is_nan() {
                // Windows within the run [run_begin, time) that reach into [begin, end).
                let earliest = run_begin.max(begin - wish.duration);
                // Rounding may let a window end at `time` that begins a little after `time - duration`.
                let latest = (time.next_up() - wish.duration).next_up().min(last_start);
                if earliest <= latest {
                    span = Some((span.map_or(earliest, |(first, _)| first), latest));
                }
                run_begin = f64::NAN;
            }
        }
        span
    }

    /// Whether the job fits for its whole duration from `start`; if so, its shares.
    pub fn fits_at(&self, wish: &Wish<'_>, start: f64, placer: &Placer, shares: &mut Vec<Share>) -> bool {
        let room = Window::new(self, start, start + wish.duration);
        placer.place(&room, wish.request, wish.tasks, wish.row, shares)
    }
}

/// The minima of every node's free amounts over a time, as one request sees them.
struct Window<'a> {
    profile: &'a Profile,
    from: f64,
    until: f64,
    /// The slots of the node looked at last: allocators ask twice.
    latest: Cell<(u32, u32)>,
}

impl<'a> Window<'a> {
    fn new(profile: &'a Profile, from: f64, until: f64) -> Self {
        Self { profile, from, until, latest: Cell::new((u32::MAX, 0)) }
    }

    /// The steps of a node that lie in the window, at least one: free amounts, and minus the number of jobs.
    fn steps(&self, node: u32) -> impl Iterator<Item = &'a [i64]> {
        let steps = &self.profile.nodes[node as usize];
        let first = steps.find(self.from);
        let later = steps.times[first + 1..].iter().take_while(|&&begin| begin < self.until);
        let mut values = steps.values[first * steps.width..].chunks_exact(steps.width);
        values.next().into_iter().chain(values.zip(later).map(|(values, _)| values))
    }

    fn count_slots(&self, node: u32, request: &Request) -> u32 {
        if !self.profile.node_sets.contains(request.nodes, node) {
            return 0;
        }
        let mut slots = u32::MAX;
        for values in self.steps(node) {
            // The slots of minima are the minimum of slots.
            slots = slots.min(slots_of_step(request, values));
            if slots == 0 {
                break;
            }
        }
        slots
    }

    /// The slots of a node, and when the last step that admits no more is over.
    fn scarcest(&self, node: u32, request: &Request) -> (u32, f64) {
        let times = &self.profile.nodes[node as usize].times;
        let first = self.profile.nodes[node as usize].find(self.from);
        let (mut least, mut until) = (u32::MAX, f64::INFINITY);
        for (step, values) in self.steps(node).enumerate() {
            let slots = slots_of_step(request, values);
            if slots <= least {
                least = slots;
                until = times.get(first + step + 1).copied().unwrap_or(f64::INFINITY);
            }
        }
        (least, until)
    }

    fn load(&self, node: u32) -> f64 {
        let resources = self.profile.resources;
        let capacity = &self.profile.capacity[node as usize * resources..][..resources];
        let mut minima = capacity.to_vec();
        for values in self.steps(node) {
            for (least, value) in minima.iter_mut().zip(values) {
                *least = (*least).min(*value).max(0);
            }
        }
        load(capacity, &minima)
    }
}

/// What a node admits in one step of its time.
fn slots_of_step(request: &Request, values: &[i64]) -> u32 {
    let (jobs, free) = (values[values.len() - 1], &values[..values.len() - 1]);
    request.slots(free, jobs == 0)
}

impl Room for Window<'_> {
    fn nodes(&self) -> u32 {
        self.profile.nodes.len() as u32
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        let (known, slots) = self.latest.get();
        if known == node {
            return slots;
        }
        let slots = self.count_slots(node, request);
        self.latest.set((node, slots));
        slots
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        self.profile.node_sets.nodes_from(request.nodes, from).find(|&node| self.slots(node, request) > 0)
    }

    fn visit_by_load(&self, request: &Request, busiest_first: bool, visit: &mut dyn FnMut(u32) -> bool) {
        let sign = if busiest_first { -1.0 } else { 1.0 };
        let mut nodes: Vec<(f64, u32)> = self
            .profile
            .node_sets
            .nodes_from(request.nodes, 0)
            .filter(|&node| self.slots(node, request) > 0)
            .map(|node| (sign * self.load(node), node))
            .collect();
        nodes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, node) in nodes {
            if !visit(node) {
                return;
            }
        }
    }
}
