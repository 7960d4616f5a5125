//! EASY backfilling (S6), after Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995).
//!
//! The reservation of the head is kept from pass to pass. As long as nothing was given back and the head is the same,
//! only arrivals are examined; where it depends on a job's nodes whether it does harm, only if the last pass started
//! nothing, since a start can send a job that would have done harm to other nodes. It depends on them where room is
//! counted node by node, where jobs take nodes whole, and where the head may use part of the machine only: what a job
//! takes elsewhere is no harm. Totals are those of the head's node set. Otherwise: O(log n) for the reservation where totals
//! decide (all tasks alike), else O(shares of the jobs that end before it, and the head's tasks), and O(n) more for each
//! trial where only consecutive nodes will do; then O(log q) for each later job that the totals admit.
use crate::cluster::{Machine, NodeSetId, Request, Room};
use crate::time::{Time, from_ordered_bits};
use crate::workload::jobs::Share;

use super::backfill::Backfill;
use super::site::{Rank, Site};

/// EASY: whoever fits may overtake, unless it would delay the first job that does not.
#[derive(Clone, Debug, Default)]
pub struct Easy {
    shadow: Option<Shadow>,
    room: FutureRoom,
    examined: u64,
    /// Whether the last pass started anybody.
    started: bool,
    shares: Vec<Share>,
}

/// The reservation of the head.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    pub(super) head: u32,
    /// When it is thought to start; infinite where it does not fit on what the machine offers.
    pub(super) time: f64,
    /// The nodes that the head may use.
    nodes: NodeSetId,
    /// What the totals of these nodes leave at the shadow time, per resource, once the head has started.
    extra: Vec<i64>,
    /// Whether the totals do not decide, so that room is counted node by node.
    on_nodes: bool,
    /// Whether it depends on its nodes if a job does harm.
    goes_by_place: bool,
}

impl Backfill for Easy {
    fn pass(&mut self, site: &mut Site) {
        if !site.may_start_some() {
            return;
        }
        if self.still_holds(site) {
            self.examine_arrivals(site);
        } else {
            self.examine_all(site);
        }
        self.started = !site.started.is_empty();
    }
}

impl Easy {
    fn still_holds(&self, site: &Site) -> bool {
        let head = site.queue.first().map(|rank| rank.job);
        let same_head = |shadow: &Shadow| Some(shadow.head) == head && site.now <= shadow.time;
        let same_places = |shadow: &Shadow| !shadow.goes_by_place || !self.started;
        !site.order.is_dynamic()
            && self.examined == site.releases
            && self.shadow.as_ref().is_some_and(|shadow| same_head(shadow) && same_places(shadow))
    }

    fn examine_arrivals(&mut self, site: &mut Site) {
        let goes_by_place = self.shadow.as_ref().is_some_and(|shadow| shadow.goes_by_place);
        for job in site.arrivals_in_order() {
            let rank = site.rank_of(job);
            self.consider(site, job);
            if goes_by_place && !site.started.is_empty() {
                return self.backfill(site, rank);
            }
        }
    }

    fn examine_all(&mut self, site: &mut Site) {
        site.reorder();
        self.shadow = None;
        self.examined = site.releases;
        while let Some(head) = site.queue.first() {
            if !site.try_start(head.job) {
                self.shadow = Some(Shadow::of(site, head.job, &mut self.room));
                return self.backfill(site, head);
            }
        }
    }

    /// Examines the jobs behind `rank`, in order.
    fn backfill(&mut self, site: &mut Site, rank: Rank) {
        let mut at = Some(rank);
        while let Some(shadow) = &self.shadow {
            let may_start =
                |values: &[i64]| site.may_fit_where(values, |set, own| shadow.may_admit(site, set, own));
            let Some(rank) = site.queue.first_matching(at.as_ref(), &may_start) else { return };
            self.consider(site, rank.job);
            at = Some(rank);
        }
    }

    /// Starts a job behind the head if it fits and does no harm.
    fn consider(&mut self, site: &mut Site, job: u32) {
        let mut shares = std::mem::take(&mut self.shares);
        if let Some(shadow) = &mut self.shadow
            && site.place_now(job, &mut shares)
            && shadow.admit(site, job, &shares, &mut self.room)
        {
            site.start(job, &shares);
        }
        self.shares = shares;
    }
}

impl Shadow {
    pub(super) fn of(site: &Site, head: u32, room: &mut FutureRoom) -> Self {
        let resources = site.machine.resources();
        let nodes = site.request(head).nodes;
        let needs: Vec<i64> = (0..resources).map(|resource| site.need(head, resource)).collect();
        let mut carried = site.machine.free_totals().to_vec();
        let enough =
            |totals: &[i64]| totals[nodes.block(resources)].iter().zip(&needs).all(|(has, need)| has >= need);
        let end = site.running.first_prefix(&mut carried, &enough).map_or(site.now, |end| end.time.0);
        let on_nodes = site.counted(head).is_none();
        let time = if on_nodes { room.open(site, head, end) } else { end }.max(site.now);
        let mut then = site.machine.free_totals().to_vec();
        site.running.join_prefix(&mut then, &|end| end.time <= Time(time));
        let extra = then[nodes.block(resources)].iter().zip(&needs).map(|(has, need)| has - need).collect();
        let goes_by_place = on_nodes || nodes != NodeSetId::ALL || site.requests.has_exclusive();
        Self { head, time, nodes, extra, on_nodes, goes_by_place }
    }

    /// Whether a job of this node set with this block of queue values may be admitted: false only if none of them is.
    ///
    /// What a job takes of the head's nodes is known beforehand only where it may use no others: all of its needs. One
    /// that may use others as well can have taken nothing of them, so that its nodes decide.
    pub(super) fn may_admit(&self, site: &Site, set: NodeSetId, values: &[i64]) -> bool {
        site.now + from_ordered_bits(values[0]) <= self.time
            || !site.machine.node_sets().is_within(set, self.nodes)
            || values[1..].iter().zip(&self.extra).all(|(need, extra)| need <= extra)
    }

    /// Whether a job may start on these shares; if so, its effect on the room is noted.
    pub(super) fn admit(&mut self, site: &Site, job: u32, shares: &[Share], room: &mut FutureRoom) -> bool {
        let request = site.request(job);
        if site.now + site.jobs.job(job).estimate <= self.time {
            if self.on_nodes {
                // It will have come and gone: what the machine is about to lack is back by then.
                room.change(&site.machine, request, shares, 1);
            }
            return true;
        }
        let sets = site.machine.node_sets();
        let taken = shares.iter().filter(|share| sets.contains(self.nodes, share.node));
        let loss =
            |resource| taken.clone().map(|&share| site.machine.loss(request, share, resource)).sum::<i64>();
        if self.extra.iter().enumerate().any(|(resource, &extra)| loss(resource) > extra) {
            return false;
        }
        if self.on_nodes && !room.spare(site, self.head, request, shares) {
            return false;
        }
        for (resource, extra) in self.extra.iter_mut().enumerate() {
            *extra -= loss(resource);
        }
        true
    }
}

/// What will be free at the shadow time, node by node: what is free now, plus what is given back by then.
#[derive(Clone, Debug, Default)]
pub(super) struct FutureRoom {
    gained: Vec<i64>,
    leaving: Vec<u32>,
    /// Nodes that may have gained something; one may stand here more than once.
    touched: Vec<u32>,
    /// The head's slots then, on all nodes.
    slots: u64,
}

impl FutureRoom {
    /// Lets running jobs end, those of one instant together, until the head fits: that instant.
    ///
    /// By the totals it cannot be before `earliest`.
    fn open(&mut self, site: &Site, head: u32, earliest: f64) -> f64 {
        self.clear(&site.machine);
        self.slots = slots_now(&site.machine, site.request(head));
        let mut time = site.now;
        site.running.visit(&mut |end| {
            let next = end.time.0.max(site.now);
            if next > time && time >= earliest && self.fits(site, head) {
                return false;
            }
            self.gain(site, head, end.job);
            time = next;
            true
        });
        // Everybody has gone: it does not fit only where part of the machine is withheld.
        if site.machine.withholds() && !self.fits(site, head) { f64::INFINITY } else { time }
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

    /// A running job's shares will have been given back.
    fn gain(&mut self, site: &Site, head: u32, job: u32) {
        let (machine, shares) = (&site.machine, site.jobs.placement(job));
        let before = self.slots_on(machine, site.request(head), shares);
        self.change(machine, site.request(job), shares, 1);
        self.slots = self.slots - before + self.slots_on(machine, site.request(head), shares);
    }

    fn fits(&self, site: &Site, head: u32) -> bool {
        let tasks = site.jobs.job(head).tasks;
        if site.placer.allocator().is_free_to_spread() {
            return self.slots >= u64::from(tasks);
        }
        site.placer.fits(&Then { machine: &site.machine, room: self }, site.request(head), tasks)
    }

    fn slots_on(&self, machine: &Machine, request: &Request, shares: &[Share]) -> u64 {
        let then = Then { machine, room: self };
        shares.iter().map(|share| u64::from(then.slots(share.node, request))).sum()
    }

    fn change(&mut self, machine: &Machine, request: &Request, shares: &[Share], sign: i64) {
        let resources = machine.resources();
        for &share in shares {
            let node = share.node as usize;
            self.touched.push(share.node);
            for resource in 0..resources {
                self.gained[node * resources + resource] += sign * machine.held(request, share, resource);
            }
            self.leaving[node] = self.leaving[node].wrapping_add_signed(sign as i32);
        }
    }

    /// Whether the head still fits if these shares stay taken beyond the shadow time; if so, they are.
    fn spare(&mut self, site: &Site, head: u32, request: &Request, shares: &[Share]) -> bool {
        let (machine, asked) = (&site.machine, site.request(head));
        let slots = self.slots;
        let before = self.slots_on(machine, asked, shares);
        self.change(machine, request, shares, -1);
        self.slots = slots - before + self.slots_on(machine, asked, shares);
        let fits = self.fits(site, head);
        // The machine itself will lack these shares once the job has started.
        self.change(machine, request, shares, 1);
        if !fits {
            self.slots = slots;
        }
        fits
    }
}

/// The slots of all nodes now: O(nodes with a slot), fewer than the head's tasks unless it waits for consecutive ones.
fn slots_now(machine: &Machine, request: &Request) -> u64 {
    let (mut slots, mut from) = (0, 0);
    while let Some(node) = machine.next_with_slots(from, request) {
        slots += u64::from(machine.slots(node, request));
        from = node + 1;
    }
    slots
}

/// The machine at the shadow time.
struct Then<'a> {
    machine: &'a Machine,
    room: &'a FutureRoom,
}

impl Room for Then<'_> {
    fn nodes(&self) -> u32 {
        self.machine.nodes()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        let resources = self.machine.resources();
        if self.machine.is_closed(node) || !self.machine.node_sets().contains(request.nodes, node) {
            return 0;
        }
        let gained = &self.room.gained[node as usize * resources..][..resources];
        let stay = self.machine.jobs_on(node).wrapping_sub(self.room.leaving[node as usize]);
        let free =
            gained.iter().enumerate().map(|(resource, &gain)| self.machine.free_with(node, resource, gain));
        request.slots_of(free, stay == 0)
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        self.machine.node_sets().nodes_from(request.nodes, from).find(|&node| self.slots(node, request) > 0)
    }

    fn visit_by_load(&self, request: &Request, _: bool, visit: &mut dyn FnMut(u32) -> bool) {
        // Whether a job fits does not depend on the order.
        for node in self.machine.node_sets().nodes_from(request.nodes, 0) {
            if !visit(node) {
                return;
            }
        }
    }
}
