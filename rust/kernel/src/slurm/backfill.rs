//! One call of the backfill scheduler: every job in order starts, or is planned on nodes of its own (`_attempt_backfill`).
use serde::{Deserialize, Serialize};

use super::depths::Looked;
use super::free_window::FreeWindow;
use super::node_bits::NodeBits;
use super::node_space::NodeSpace;
use super::parameters::Setup;
use super::reserves::Planned;
use super::situation::{Allotment, Entry, Limits, Partition, Situation, Verdict};
use super::starting::{Begun, CallState};

/// What becomes of each entry of the queue, and the weights of nodes after the call.
#[must_use]
pub fn backfill(setup: &Setup, situation: Situation, queue: &[Entry]) -> (Vec<Verdict>, Vec<u32>) {
    let mut call = Backfill::new(setup, CallState::of(setup, situation));
    let verdicts = queue.iter().map(|entry| call.consider(setup, entry)).collect();
    (verdicts, call.state.weights)
}

/// A call on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backfill {
    state: CallState,
    /// The nodes of each partition that take jobs.
    members: Vec<NodeBits>,
    space: NodeSpace,
    /// Entries that were looked at, in all and by what they are counted by.
    tested: usize,
    looked: Looked,
    starts: usize,
    planned: Planned,
    /// The second from which on the same call might decide otherwise though nothing but the time has changed.
    holds_until: f64,
    /// Whether some estimate was put off to the end of a plan.
    puts_off: bool,
}

/// When a job can start beside the plans made so far, where, and on which nodes it may.
struct Place {
    start: f64,
    chosen: Vec<Allotment>,
    usable: NodeBits,
}

/// The nodes of each partition that take jobs.
fn members(setup: &Setup, available: &NodeBits) -> Vec<NodeBits> {
    let of_partition = |partition: &Partition| {
        let mut nodes = partition.nodes.clone();
        nodes.keep(available);
        nodes
    };
    setup.partitions.iter().map(of_partition).collect()
}

impl Backfill {
    /// A call that begins now.
    #[must_use]
    pub fn new(setup: &Setup, state: CallState) -> Self {
        let partitions = setup.partitions.len();
        Self {
            members: members(setup, &state.available),
            space: NodeSpace::new(state.now, state.available.clone(), &setup.backfill),
            state,
            tested: 0,
            looked: Looked::default(),
            starts: 0,
            planned: Planned::none(partitions),
            holds_until: f64::INFINITY,
            puts_off: false,
        }
    }

    /// The second from which on the same call might decide otherwise though nothing but the time has changed. Where the call
    /// starts nothing.
    #[must_use]
    pub fn holds_until(&self) -> f64 {
        self.holds_until.min(self.space.holds_until())
    }

    /// Whether some estimate was put off to the end of a plan: Slurm counts that as a change of the job.
    #[must_use]
    pub fn puts_off(&self) -> bool {
        self.puts_off
    }

    /// What the call leaves.
    #[must_use]
    pub fn into_state(self) -> CallState {
        self.state
    }

    /// What the call leaves for others until it goes on. It keeps its plans.
    #[must_use]
    pub fn pause(&mut self) -> CallState {
        let done = self.state.done.clone();
        std::mem::replace(&mut self.state, CallState { done, ..CallState::default() })
    }

    /// Goes on with what there is now.
    pub fn resume(&mut self, setup: &Setup, state: CallState) {
        let done = std::mem::take(&mut self.state.done);
        self.members = members(setup, &state.available);
        self.state = CallState { done, ..state };
    }

    /// How many entries were looked at.
    #[must_use]
    pub fn tested(&self) -> usize {
        self.tested
    }

    /// Whether as many entries were looked at as may be, or as many jobs started.
    #[must_use]
    pub fn is_over(&self, setup: &Setup) -> bool {
        let most = setup.backfill.max_starts;
        self.tested >= setup.backfill.max_entries || (most > 0 && self.starts >= most)
    }

    /// Starts a job, preempts others for it, plans it, or lets it wait.
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> Verdict {
        if self.state.done.contains(&entry.job) || self.is_over(setup) {
            return Verdict::NotTried;
        }
        if self.planned.has_all_of_array(&setup.backfill.reserves, entry) {
            return Verdict::NotTried;
        }
        if !self.looked.admits(&setup.backfill.depths, entry) {
            return Verdict::NotTried;
        }
        self.tested += 1;
        if entry.limits == Limits::Shut {
            return Verdict::Waits;
        }
        let reserves = &setup.backfill.reserves;
        let only_now = !self.planned.admits(reserves, entry, self.state.now);
        self.heed(entry.eligible + reserves.min_age);
        let Some(place) = self.earliest(setup, entry, only_now) else { return Verdict::Waits };
        let begun = if place.start > self.state.now {
            Begun::Not
        } else {
            self.state.begin(setup, entry, &place.usable, &place.usable)
        };
        match begun {
            Begun::Started(chosen) => {
                self.starts += 1;
                return Verdict::Started(chosen);
            }
            _ if !entry.is_open() => return Verdict::Waits,
            _ => {}
        }
        let Place { start, chosen, .. } = place;
        self.space.plan(&nodes_of(setup, &chosen), start, start + entry.limit);
        self.planned.add(&setup.backfill.reserves, entry);
        match begun {
            Begun::Preempted(gone) => Verdict::Preempts(gone, chosen),
            _ => Verdict::Planned(start, chosen),
        }
    }

    /// When a job can start beside the plans made so far, and where.
    fn earliest(&mut self, setup: &Setup, entry: &Entry, only_now: bool) -> Option<Place> {
        let place = self.look(setup, entry, only_now);
        self.state.occupation.return_to_now(setup);
        place
    }

    /// Looks for it from now on, then from the ends of plans on. What is free may be that of a later time afterwards.
    fn look(&mut self, setup: &Setup, entry: &Entry, only_now: bool) -> Option<Place> {
        let now = self.state.now;
        let mut from = now;
        let mut window = FreeWindow::new(setup.nodes(), &self.space, from);
        loop {
            let (usable, later) = self.usable(setup, entry, from, &mut window);
            if only_now {
                return self.fits_now(setup, entry, usable);
            }
            // Looking again at one time would go on for ever.
            let later = later.filter(|&later| later > from);
            // A start after later is tried again from then on, whatever it is.
            let Some((start, chosen)) = self.state.earliest(setup, entry, &usable, later) else {
                from = later?;
                continue;
            };
            self.heed(start);
            self.puts_off |= start < from;
            let chosen_nodes = nodes_of(setup, &chosen);
            let mut start = start.max(from);
            let awaits_answer = start <= now && chosen_nodes.meets(&self.state.completing);
            if awaits_answer {
                start = now + 1.0;
                self.heed(start);
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

    /// The nodes on which a job may run from a time on, and when to look again: when plans free others, or when the first
    /// reservation is over, if some keep nodes from it.
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
        // Whether others come free is asked of all nodes of the partition.
        let later = self.space.later(&members, window.first(), end);
        entry.keep_suitable(&mut usable);
        self.heed_free(from, entry.limit);
        self.heed_reservations(entry, from);
        if !is_reserved {
            return (usable, later);
        }
        let ends = self.state.reservations.iter().map(|each| each.end).filter(|&end| end >= from);
        let first = ends.fold(f64::INFINITY, f64::min);
        let after = setup.backfill.rounded_up(first) + 1.0;
        let is_seen = after < self.state.now + setup.backfill.window;
        if !is_seen {
            self.heed(after - setup.backfill.window + 1.0);
        }
        let after = if is_seen { after } else { f64::INFINITY };
        let later = later.unwrap_or(f64::INFINITY).min(after);
        (usable, later.is_finite().then_some(later))
    }

    /// The start of a job that may start now or not at all.
    fn fits_now(&self, setup: &Setup, entry: &Entry, usable: NodeBits) -> Option<Place> {
        let state = &self.state;
        let chosen = state.occupation.choose_now(setup, entry, &usable, &state.weights)?;
        let is_free = !nodes_of(setup, &chosen).meets(&state.completing);
        is_free.then_some(Place { start: state.now, chosen, usable })
    }

    /// What was found holds until a start that is later than now has come.
    fn heed(&mut self, start: f64) {
        if start > self.state.now {
            self.holds_until = self.holds_until.min(start);
        }
    }

    /// A job that would start now and end before a reservation begins meets it if it starts later.
    fn heed_reservations(&mut self, entry: &Entry, from: f64) {
        if from > self.state.now {
            return;
        }
        // By a second earlier, since seconds of the clock have parts.
        let meets = |begin: f64| begin - entry.limit - 1.0;
        let begins = self.state.reservations.iter().map(|each| each.begin);
        let next = begins.filter(|&begin| begin >= from + entry.limit).fold(f64::INFINITY, f64::min);
        self.holds_until = self.holds_until.min(meets(next));
    }

    /// What was found holds until the nodes that no plan holds from now on are others.
    fn heed_free(&mut self, from: f64, limit: f64) {
        if from <= self.state.now {
            self.holds_until = self.holds_until.min(self.space.free_holds_until(self.state.now, limit));
        }
    }
}

fn nodes_of(setup: &Setup, chosen: &[Allotment]) -> NodeBits {
    NodeBits::of(setup.nodes(), chosen.iter().map(|each| each.node))
}
