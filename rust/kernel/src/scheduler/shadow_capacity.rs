//! What will be free at EASY's shadow time, node by node.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, Machine, NodeTasks, PlacementRequest, Ranked, Request};
use crate::placement::Allocator;
use crate::state::View;

/// On so many nodes it costs less to count all slots once than with each job that ends.
const FEW_NODES: u32 = 1024;

/// What will be free at the shadow time, node by node: what is free now, plus what is given back by then.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowCapacity {
    gained: Vec<i64>,
    leaving: Vec<u32>,
    /// Nodes that may have gained something; one may stand here more than once.
    touched: Vec<u32>,
    /// The head's slots then, on all nodes.
    slots: u64,
    /// The same on each node, for the rules by which it fits by shape; else empty.
    on_node: Vec<u32>,
}

impl ShadowCapacity {
    /// Lets running jobs end, those of one instant together, until the head fits: that instant.
    ///
    /// By the totals it cannot be before `earliest`.
    pub fn open(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        earliest: f64,
    ) -> f64 {
        self.clear(&view.state.machine);
        self.on_node.clear();
        let machine = &view.state.machine;
        if !allocator.is_free_to_spread() {
            self.on_node.resize(machine.nodes() as usize, 0);
            self.slots = 0;
            machine.visit_slots(0..machine.nodes(), head.request, &mut |node, admitted| {
                self.on_node[node as usize] = admitted;
                self.slots += u64::from(admitted);
                true
            });
            return self.open_by_halves(view, allocator, head, earliest);
        }
        // Up to the earliest instant it need not be known how many slots there are.
        let mut is_counted = machine.nodes() > FEW_NODES;
        if is_counted {
            self.slots = slots_now(machine, head.request);
        }
        let mut time = view.now();
        view.visit_running(&mut |end| {
            let next = end.time.0.max(view.now());
            if next > time && time >= earliest {
                if !is_counted {
                    self.count_slots(machine, head.request);
                    is_counted = true;
                }
                if self.fits(view, allocator, head) {
                    return false;
                }
            }
            if is_counted {
                self.gain(view, head, end.job, 1);
            } else {
                self.change(machine, view.request(end.job), view.state.jobs.placement(end.job), 1);
            }
            time = next;
            true
        });
        if !is_counted {
            self.count_slots(machine, head.request);
        }
        // No job runs any more: then it fits, unless that is not known.
        if !view.fits_alone(head.job) && !self.fits(view, allocator, head) { f64::INFINITY } else { time }
    }

    /// Counts the slots of all nodes. O(n).
    fn count_slots(&mut self, machine: &Machine, request: &Request) {
        let nodes = machine.node_sets().nodes_from(request.nodes, 0);
        self.slots = match *request.amounts {
            // One amount decides on each node: the most common case.
            [amount] if amount > 0 && !request.exclusive && !machine.has_unavailable() => {
                let most = if request.tasks_per_node == 0 { u32::MAX } else { request.tasks_per_node };
                let then = |node: u32| machine.free_of(node)[0] + self.gained[node as usize];
                nodes.map(|node| u64::from(quotient(then(node), amount).min(most))).sum()
            }
            _ => nodes.map(|node| u64::from(self.slots_then(machine, node, request))).sum(),
        };
    }

    /// The same where to ask whether the head fits costs O(n): once for each halving of the instants. It goes on to fit once
    /// it does, as more and more is free.
    fn open_by_halves(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        earliest: f64,
    ) -> f64 {
        let (mut jobs, mut instants) = (Vec::new(), vec![(view.now(), 0)]);
        view.visit_running(&mut |end| {
            jobs.push(end.job);
            let time = end.time.0.max(view.now());
            match instants.last_mut() {
                Some((latest, ended)) if *latest >= time => *ended = jobs.len(),
                _ => instants.push((time, jobs.len())),
            }
            true
        });
        let last = instants.len() - 1;
        let (mut low, mut high) = (instants.partition_point(|(time, _)| *time < earliest).min(last), last);
        let mut ended = 0;
        while low < high {
            let middle = usize::midpoint(low, high);
            self.let_end(view, head, &jobs, &mut ended, instants[middle].1);
            if self.fits(view, allocator, head) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.let_end(view, head, &jobs, &mut ended, instants[high].1);
        // No job runs any more: then it fits, unless that is not known.
        let is_in_doubt = high == last && !view.fits_alone(head.job);
        if is_in_doubt && !self.fits(view, allocator, head) { f64::INFINITY } else { instants[high].0 }
    }

    /// Lets the first `count` of these jobs have ended, where the first `ended` had.
    fn let_end(
        &mut self,
        view: View<'_>,
        head: &PlacementRequest<'_>,
        jobs: &[u32],
        ended: &mut usize,
        count: usize,
    ) {
        let (range, sign) = if *ended < count { (*ended..count, 1) } else { (count..*ended, -1) };
        for &job in &jobs[range] {
            self.gain(view, head, job, sign);
        }
        *ended = count;
    }

    fn clear(&mut self, machine: &Machine) {
        let resources = machine.resources();
        self.gained.resize(machine.capacity().len(), 0);
        self.leaving.resize(machine.nodes() as usize, 0);
        for node in self.touched.drain(..) {
            self.gained[node as usize * resources..][..resources].fill(0);
            self.leaving[node as usize] = 0;
        }
    }

    /// A running job's placement will have been given back; with sign −1 it will not.
    fn gain(&mut self, view: View<'_>, head: &PlacementRequest<'_>, job: u32, sign: i64) {
        let placement = view.state.jobs.placement(job);
        self.change_slots(&view.state.machine, head.request, (view.request(job), placement), sign);
    }

    /// A placement will have been given back, or not, and the head has other slots then.
    fn change_slots(
        &mut self,
        machine: &Machine,
        head: &Request,
        (request, placement): (&Request, &[NodeTasks]),
        sign: i64,
    ) {
        if self.on_node.is_empty() {
            let before = self.slots_on(machine, head, placement);
            self.change(machine, request, placement, sign);
            self.slots = self.slots - before + self.slots_on(machine, head, placement);
            return;
        }
        self.change(machine, request, placement, sign);
        for part in placement {
            let now = self.slots_then(machine, part.node, head);
            let before = std::mem::replace(&mut self.on_node[part.node as usize], now);
            self.slots = self.slots - u64::from(before) + u64::from(now);
        }
    }

    fn fits(&self, view: View<'_>, allocator: &Allocator, head: &PlacementRequest<'_>) -> bool {
        if allocator.is_free_to_spread() {
            return self.slots >= u64::from(head.tasks);
        }
        allocator.fits(&AvailabilityAtShadow { machine: &view.state.machine, room: self }, head)
    }

    fn slots_on(&self, machine: &Machine, request: &Request, placement: &[NodeTasks]) -> u64 {
        placement.iter().map(|part| u64::from(self.slots_then(machine, part.node, request))).sum()
    }

    /// The slots of a node then.
    fn slots_then(&self, machine: &Machine, node: u32, request: &Request) -> u32 {
        let resources = machine.resources();
        if machine.is_drained(node) || !machine.node_sets().contains(request.nodes, node) {
            return 0;
        }
        let gained = &self.gained[node as usize * resources..][..resources];
        let stay = machine.jobs_on(node).wrapping_sub(self.leaving[node as usize]);
        let free = gained.iter().enumerate().map(|(resource, &gain)| machine.free_with(node, resource, gain));
        request.slots_of(free, stay == 0)
    }

    pub fn change(&mut self, machine: &Machine, request: &Request, placement: &[NodeTasks], sign: i64) {
        let resources = machine.resources();
        for &part in placement {
            let node = part.node as usize;
            self.touched.push(part.node);
            for resource in 0..resources {
                self.gained[node * resources + resource] += sign * machine.held(request, part, resource);
            }
            self.leaving[node] = self.leaving[node].wrapping_add_signed(sign as i32);
        }
    }

    /// Whether the head still fits if this placement stays taken beyond the shadow time; if so, it does.
    pub fn spare(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        request: &Request,
        placement: &[NodeTasks],
    ) -> bool {
        let machine = &view.state.machine;
        self.change_slots(machine, head.request, (request, placement), -1);
        let fits = self.fits(view, allocator, head);
        if fits {
            // The machine itself will lack this placement once the job has started.
            self.change(machine, request, placement, 1);
        } else {
            self.change_slots(machine, head.request, (request, placement), 1);
        }
        fits
    }
}

/// How many amounts a free amount holds. Of numbers with few bits the division is quicker.
fn quotient(free: i64, amount: i64) -> u32 {
    match (u32::try_from(free), u32::try_from(amount)) {
        (Ok(free), Ok(amount)) => free / amount,
        _ => (free / amount).clamp(0, i64::from(u32::MAX)) as u32,
    }
}

/// The slots of all nodes now: O(nodes with a slot), fewer than the head's tasks unless it waits for consecutive ones.
fn slots_now(machine: &Machine, request: &Request) -> u64 {
    let mut slots = 0;
    machine.visit_slots(0..machine.nodes(), request, &mut |_, admitted| {
        slots += u64::from(admitted);
        true
    });
    slots
}

/// The machine at the shadow time.
struct AvailabilityAtShadow<'a> {
    machine: &'a Machine,
    room: &'a ShadowCapacity,
}

impl Availability for AvailabilityAtShadow<'_> {
    fn nodes(&self) -> u32 {
        self.machine.nodes()
    }

    /// Only the head is asked for.
    fn slots(&self, node: u32, _: &Request) -> u32 {
        self.room.on_node[node as usize]
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        let gain = self.room.gained[node as usize * self.machine.resources() + resource];
        self.machine.free_with(node, resource, gain)
    }

    fn next_with_slots(&self, from: u32, _: &Request) -> Option<u32> {
        let slots = &self.room.on_node[from as usize..];
        slots.iter().position(|&slots| slots > 0).map(|behind| from + behind as u32)
    }

    fn visit_slots(&self, nodes: Range<u32>, _: &Request, visit: &mut impl FnMut(u32, u32) -> bool) {
        let slots = &self.room.on_node[nodes.start as usize..nodes.end as usize];
        for (node, &slots) in nodes.zip(slots) {
            if slots > 0 && !visit(node, slots) {
                return;
            }
        }
    }

    fn visit_by_load(&self, request: &Request, _: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        // Whether a job fits does not depend on the order.
        for node in self.machine.node_sets().nodes_from(request.nodes, 0) {
            if !visit(node) {
                return;
            }
        }
    }
}
