//! Free capacity of each node at EASY's shadow time.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, Machine, NodeTasks, PlacementRequest, Ranked, Request};
use crate::placement::Allocator;
use crate::state::View;

/// Up to this number of nodes, counting all slots once is cheaper than updating them for each ending job.
const FEW_NODES: u32 = 1024;

/// Free capacity at the shadow time, node by node: currently free, plus released by then.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowCapacity {
    gained: Vec<i64>,
    leaving: Vec<u32>,
    /// Nodes that may have gained capacity; may contain duplicates.
    touched: Vec<u32>,
    /// Total slots of the head at the shadow time.
    slots: u64,
    /// Slots of the head on each node, if it is placed by shape; otherwise empty.
    on_node: Vec<u32>,
}

impl ShadowCapacity {
    /// End running jobs in the order of their expected ends, those of one instant together, until the head fits. Return
    /// this instant.
    ///
    /// Totals prove that it is not before `earliest`.
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
        // Slots need not be counted before the earliest instant.
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
        // With no job running the head fits, unless this is not known in advance.
        if !view.fits_alone(head.job) && !self.fits(view, allocator, head) { f64::INFINITY } else { time }
    }

    /// Count the slots of all nodes. O(n).
    fn count_slots(&mut self, machine: &Machine, request: &Request) {
        let nodes = machine.node_sets().nodes_from(request.nodes, 0);
        self.slots = match *request.amounts {
            // Fast path for a single amount per node, the most common case.
            [amount] if amount > 0 && !request.exclusive && !machine.has_unavailable() => {
                let most = if request.tasks_per_node == 0 { u32::MAX } else { request.tasks_per_node };
                let then = |node: u32| machine.free_of(node)[0] + self.gained[node as usize];
                nodes.map(|node| u64::from(quotient(then(node), amount).min(most))).sum()
            }
            _ => nodes.map(|node| u64::from(self.slots_then(machine, node, request))).sum(),
        };
    }

    /// Same as `open`, by bisection over the instants: each test of whether the head fits costs O(n). Free capacity
    /// only grows, so that the head continues to fit once it does.
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
        // With no job running the head fits, unless this is not known in advance.
        let is_in_doubt = high == last && !view.fits_alone(head.job);
        if is_in_doubt && !self.fits(view, allocator, head) { f64::INFINITY } else { instants[high].0 }
    }

    /// Change the number of ended jobs from `ended` to `count`.
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

    /// Add the placement of a running job to the released capacity; with sign −1, remove it.
    fn gain(&mut self, view: View<'_>, head: &PlacementRequest<'_>, job: u32, sign: i64) {
        let placement = view.state.jobs.placement(job);
        self.change_slots(&view.state.machine, head.request, (view.request(job), placement), sign);
    }

    /// Add or remove released capacity, and update the head's slots.
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
        allocator.fits(&AvailabilityAtShadow { machine: &view.state.machine, capacity: self }, head)
    }

    fn slots_on(&self, machine: &Machine, request: &Request, placement: &[NodeTasks]) -> u64 {
        placement.iter().map(|part| u64::from(self.slots_then(machine, part.node, request))).sum()
    }

    /// Return the slots of a node at the shadow time.
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

    /// Return whether the head still fits if this placement is occupied beyond the shadow time. If so, record it.
    pub fn take_if_head_fits(
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
            // The machine's own state will exclude this placement once the job has started.
            self.change(machine, request, placement, 1);
        } else {
            self.change_slots(machine, head.request, (request, placement), 1);
        }
        fits
    }
}

/// Return how many times an amount fits into a free amount. Division of 32-bit numbers is faster.
fn quotient(free: i64, amount: i64) -> u32 {
    match (u32::try_from(free), u32::try_from(amount)) {
        (Ok(free), Ok(amount)) => free / amount,
        _ => (free / amount).clamp(0, i64::from(u32::MAX)) as u32,
    }
}

/// Count the slots of all nodes now. O(nodes with a slot), fewer than the head's tasks unless it waits for consecutive
/// nodes.
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
    capacity: &'a ShadowCapacity,
}

impl Availability for AvailabilityAtShadow<'_> {
    fn nodes(&self) -> u32 {
        self.machine.nodes()
    }

    /// Only the head's request is used.
    fn slots(&self, node: u32, _: &Request) -> u32 {
        self.capacity.on_node[node as usize]
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        let gain = self.capacity.gained[node as usize * self.machine.resources() + resource];
        self.machine.free_with(node, resource, gain)
    }

    fn next_with_slots(&self, from: u32, _: &Request) -> Option<u32> {
        let slots = &self.capacity.on_node[from as usize..];
        slots.iter().position(|&slots| slots > 0).map(|behind| from + behind as u32)
    }

    fn visit_slots(&self, nodes: Range<u32>, _: &Request, visit: &mut impl FnMut(u32, u32) -> bool) {
        let slots = &self.capacity.on_node[nodes.start as usize..nodes.end as usize];
        for (node, &slots) in nodes.zip(slots) {
            if slots > 0 && !visit(node, slots) {
                return;
            }
        }
    }

    fn visit_by_load(&self, request: &Request, _: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        // Whether a job fits does not depend on the order of the nodes.
        for node in self.machine.node_sets().nodes_from(request.nodes, 0) {
            if !visit(node) {
                return;
            }
        }
    }
}
