//! One call of the backfill scheduler: each job, in order, starts or is planned on its own nodes (`_attempt_backfill`).
use serde::{Deserialize, Serialize};

use super::controller_input::{Allotment, Entry, EntryOutcome, Limits, Partition};
use super::depths::Looked;
use super::finding::{Finding, Stop};
use super::free_window::FreeWindow;
use super::node_space::NodeSpace;
use super::reserves::Planned;
use super::setup::Setup;
use super::starting::{Begun, CallState};
use crate::index::NodeBits;

/// Return the outcome of each queue entry, and the node weights after the call.
#[must_use]
pub fn backfill(setup: &Setup, state: CallState, queue: &[Entry]) -> (Vec<EntryOutcome>, Vec<u32>) {
    let mut call = Backfill::new(setup, state);
    let outcomes = queue.iter().map(|entry| call.consider(setup, entry)).collect();
    (outcomes, call.state.weights)
}

/// State of a call in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backfill {
    state: CallState,
    /// Available nodes of each partition.
    members: Vec<NodeBits>,
    space: NodeSpace,
    /// Number of entries examined, in total and for each group with a depth.
    tested: usize,
    looked: Looked,
    starts: usize,
    planned: Planned,
    /// The second from which the same call may have another result although nothing but the time has changed.
    holds_until: f64,
    /// True if some estimate was postponed to the end of a plan.
    puts_off: bool,
    /// The plans made, if findings are asked for.
    plans: Option<Vec<Plan>>,
    /// What was found of the latest entry.
    finding: Finding,
}

/// The nodes that are planned for a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    job: u32,
    begin: f64,
    end: f64,
    nodes: NodeBits,
}

/// Earliest start of a job beside the plans made so far, its nodes, and the nodes that it may use.
struct Place {
    start: f64,
    chosen: Vec<Allotment>,
    usable: NodeBits,
}

/// Return the available nodes of each partition.
fn members(setup: &Setup, available: &NodeBits) -> Vec<NodeBits> {
    let of_partition = |partition: &Partition| {
        let mut nodes = partition.nodes.clone();
        nodes.keep(available);
        nodes
    };
    setup.partitions.iter().map(of_partition).collect()
}

impl Backfill {
    /// Create a call that begins now.
    #[must_use]
    pub fn new(setup: &Setup, state: CallState) -> Self {
        let partitions = setup.partitions.len();
        Self {
            members: members(setup, &state.available),
            space: NodeSpace::new(state.now, state.available.clone(), &setup.parameters),
            state,
            tested: 0,
            looked: Looked::default(),
            starts: 0,
            planned: Planned::none(partitions),
            holds_until: f64::INFINITY,
            puts_off: false,
            plans: None,
            finding: Finding::Tried,
        }
    }

    /// Find out what keeps each entry from its nodes.
    #[must_use]
    pub fn explaining(self) -> Self {
        Self { plans: Some(Vec::new()), ..self }
    }

    /// Return what was found of the latest entry, if it waits.
    #[must_use]
    pub fn finding(&self) -> Finding {
        self.finding
    }

    /// Return the depth by which the call is over.
    #[must_use]
    pub fn stopped(&self, setup: &Setup) -> Option<Finding> {
        let has_tested_all = self.tested >= setup.parameters.bf_max_job_test;
        let stop = if has_tested_all { Stop::BfMaxJobTest } else { Stop::BfMaxJobStart };
        self.is_over(setup).then_some(Finding::Stopped(stop))
    }

    /// Return the second from which the same call may have another result although nothing but the time has changed.
    /// Valid if the call starts nothing.
    #[must_use]
    pub fn holds_until(&self) -> f64 {
        self.holds_until.min(self.space.holds_until())
    }

    /// Return whether some estimate was postponed to the end of a plan: Slurm counts that as a change of the job.
    #[must_use]
    pub fn puts_off(&self) -> bool {
        self.puts_off
    }

    /// Return the state that the call leaves.
    #[must_use]
    pub fn into_state(self) -> CallState {
        self.state
    }

    /// Return the state that the call leaves for others during a pause. The call keeps its plans.
    #[must_use]
    pub fn pause(&mut self) -> CallState {
        let done = self.state.done.clone();
        std::mem::replace(&mut self.state, CallState { done, ..CallState::default() })
    }

    /// Continue after a pause with the current state.
    pub fn resume(&mut self, setup: &Setup, state: CallState) {
        let done = std::mem::take(&mut self.state.done);
        self.members = members(setup, &state.available);
        self.state = CallState { done, ..state };
    }

    /// Return the number of entries examined.
    #[must_use]
    pub fn tested(&self) -> usize {
        self.tested
    }

    /// Return whether the maximum number of entries was examined, or of jobs started.
    #[must_use]
    pub fn is_over(&self, setup: &Setup) -> bool {
        let most = setup.parameters.bf_max_job_start;
        self.tested >= setup.parameters.bf_max_job_test || (most > 0 && self.starts >= most)
    }

    /// Start a job, preempt others for it, plan it, or let it wait.
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> EntryOutcome {
        self.finding = self.stopped(setup).unwrap_or_default();
        if self.state.done.contains(&entry.job) || self.is_over(setup) {
            return EntryOutcome::NotTried;
        }
        let has_all = self.planned.has_all_of_array(&setup.parameters, entry);
        let array = has_all.then_some(Stop::BfMaxJobArrayResv);
        if let Some(stop) = array.or_else(|| self.looked.refuses(&setup.parameters, entry)) {
            self.finding = Finding::Stopped(stop);
            return EntryOutcome::NotTried;
        }
        self.tested += 1;
        if entry.limits == Limits::Shut {
            return EntryOutcome::Waits;
        }
        let only_now = !self.planned.admits(&setup.parameters, entry, self.state.now);
        self.limit_validity(entry.eligible + setup.parameters.bf_min_age_reserve);
        let Some(place) = self.earliest(setup, entry, only_now) else {
            self.find_in_the_way(setup, entry);
            return EntryOutcome::Waits;
        };
        let begun = if place.start > self.state.now {
            Begun::Not
        } else {
            self.state.begin(setup, entry, &place.usable, &place.usable)
        };
        match begun {
            Begun::Started(chosen) => {
                self.starts += 1;
                return EntryOutcome::Started(chosen);
            }
            _ if !entry.is_open() => return EntryOutcome::Waits,
            _ => {}
        }
        if matches!(begun, Begun::Preempted(_)) {
            self.finding = Finding::Preempted;
        } else {
            self.find_in_the_way(setup, entry);
        }
        let Place { start, chosen, .. } = place;
        let nodes = nodes_of(setup, &chosen);
        let span = self.space.plan(&nodes, start, start + entry.limit);
        if let Some(plans) = &mut self.plans {
            plans.push(Plan { job: entry.job, begin: span.0, end: span.1, nodes });
        }
        self.planned.add(&setup.parameters, entry);
        match begun {
            Begun::Preempted(gone) => EntryOutcome::Preempts(gone, chosen),
            _ => EntryOutcome::Planned(start, chosen),
        }
    }

    /// Return the earliest start of a job beside the plans made so far, with its nodes.
    fn earliest(&mut self, setup: &Setup, entry: &Entry, only_now: bool) -> Option<Place> {
        let place = self.look(setup, entry, only_now);
        self.state.occupation.return_to_now(setup);
        place
    }

    /// Search from now on, then from the ends of plans. Afterwards, `occupation` may describe a later time.
    fn look(&mut self, setup: &Setup, entry: &Entry, only_now: bool) -> Option<Place> {
        let now = self.state.now;
        let mut from = now;
        let mut window = FreeWindow::new(setup.nodes(), &self.space, from);
        loop {
            let (usable, later) = self.usable(setup, entry, from, &mut window);
            if only_now {
                return self.fits_now(setup, entry, usable);
            }
            // A second search at the same time would not terminate.
            let later = later.filter(|&later| later > from);
            // A start after `later` is always searched again from `later` on.
            let Some((start, chosen)) = self.state.earliest(setup, entry, &usable, later) else {
                from = later?;
                continue;
            };
            self.limit_validity(start);
            self.puts_off |= start < from;
            let chosen_nodes = nodes_of(setup, &chosen);
            let mut start = start.max(from);
            let awaits_answer = start <= now && chosen_nodes.meets(&self.state.completing);
            if awaits_answer {
                start = now + 1.0;
                self.limit_validity(start);
            }
            if start <= now {
                return Some(Place { start, chosen, usable });
            }
            match later {
                Some(later) if start > later && !awaits_answer => from = later,
                _ if self.space.overlaps(&chosen_nodes, start, start + entry.limit) => {
                    if start <= from {
                        return None;
                    }
                    from = start;
                }
                _ => return Some(Place { start, chosen, usable }),
            }
        }
    }

    /// Return the nodes on which a job may run from a time on, and the time of the next search: when plans release
    /// other nodes, or when the first reservation is over, if reservations exclude nodes.
    fn usable(
        &mut self,
        setup: &Setup,
        entry: &Entry,
        from: f64,
        window: &mut FreeWindow,
    ) -> (NodeBits, Option<f64>) {
        let (members, is_reserved) = self.state.open(entry, &self.members[entry.partition], from);
        let end = from.max(self.state.now) + entry.limit;
        let mut usable = members.clone();
        window.keep_free(&self.space, from, end, &mut usable);
        // Whether other nodes become free is checked for all nodes of the partition.
        let later = self.space.later(&members, window.first(), end);
        entry.keep_suitable(&mut usable);
        self.limit_by_free_nodes(from, entry.limit);
        self.limit_by_reservations(entry, from);
        if !is_reserved {
            return (usable, later);
        }
        let ends = self.state.reservations.iter().map(|each| each.end).filter(|&end| end >= from);
        let first = ends.fold(f64::INFINITY, f64::min);
        let after = setup.parameters.rounded_up(first) + 1.0;
        let is_seen = after < self.state.now + setup.parameters.bf_window;
        if !is_seen {
            self.limit_validity(after - setup.parameters.bf_window + 1.0);
        }
        let after = if is_seen { after } else { f64::INFINITY };
        let later = later.unwrap_or(f64::INFINITY).min(after);
        (usable, later.is_finite().then_some(later))
    }

    /// Find the first plan, by its begin, with a node that an entry would get now if nothing were planned.
    fn find_in_the_way(&mut self, setup: &Setup, entry: &Entry) {
        let (state, now) = (&self.state, self.state.now);
        let Some(plans) = self.plans.as_ref().filter(|plans| !plans.is_empty() && entry.is_open()) else {
            return;
        };
        let (mut nodes, _) = state.open(entry, &self.members[entry.partition], now);
        entry.keep_suitable(&mut nodes);
        let mut usable = nodes.clone();
        FreeWindow::new(setup.nodes(), &self.space, now).keep_free(
            &self.space,
            now,
            now + entry.limit,
            &mut usable,
        );
        if usable == nodes {
            return;
        }
        nodes.remove(&state.completing);
        let Some(chosen) = state.occupation.choose_now(setup, entry, &nodes, &state.weights) else { return };
        let mut taken = nodes_of(setup, &chosen);
        taken.remove(&usable);
        let is_in_the_way = |plan: &&Plan| {
            let meets = plan.begin <= now + entry.limit && plan.end > now;
            meets && plan.job != entry.job && plan.nodes.meets(&taken)
        };
        let first = plans.iter().filter(is_in_the_way).min_by(|one, other| one.begin.total_cmp(&other.begin));
        if let Some(plan) = first {
            self.finding = Finding::InTheWay(plan.job, plan.begin - now);
        }
    }

    /// Return the start of a job that may start now or not at all.
    fn fits_now(&self, setup: &Setup, entry: &Entry, usable: NodeBits) -> Option<Place> {
        let state = &self.state;
        let chosen = state.occupation.choose_now(setup, entry, &usable, &state.weights)?;
        let is_free = !nodes_of(setup, &chosen).meets(&state.completing);
        is_free.then_some(Place { start: state.now, chosen, usable })
    }

    /// Limit the validity of the result to a start that is in the future.
    fn limit_validity(&mut self, start: f64) {
        if start > self.state.now {
            self.holds_until = self.holds_until.min(start);
        }
    }

    /// Limit the validity of the result to the time at which a start now would no longer end before the next
    /// reservation.
    fn limit_by_reservations(&mut self, entry: &Entry, from: f64) {
        if from > self.state.now {
            return;
        }
        // One second earlier, because clock seconds have fractions.
        let meets = |begin: f64| begin - entry.limit - 1.0;
        let begins = self.state.reservations.iter().map(|each| each.begin);
        let next = begins.filter(|&begin| begin >= from + entry.limit).fold(f64::INFINITY, f64::min);
        self.holds_until = self.holds_until.min(meets(next));
    }

    /// Limit the validity of the result to the next change of the nodes that are free of plans from now on.
    fn limit_by_free_nodes(&mut self, from: f64, limit: f64) {
        if from <= self.state.now {
            self.holds_until = self.holds_until.min(self.space.free_holds_until(self.state.now, limit));
        }
    }
}

fn nodes_of(setup: &Setup, chosen: &[Allotment]) -> NodeBits {
    NodeBits::of(setup.nodes(), chosen.iter().map(|each| each.node))
}
