//! Aggregated message passing: the ranks of a job execute the rounds together, and each round is one activity.
//!
//! When the job first reaches its rounds, they are routed, and the ranks are followed through them with the times of
//! the messages alone, O(the routes of all messages). The result is the delay of each round. Rounds that overlap too
//! much to run one after the other are merged into one activity. Demands are stored while they are not too many;
//! otherwise they are rebuilt when their rounds begin.
use std::ops::Range;
use std::sync::Arc;

use super::demands::Demands;
use super::error::ExecutionError;
use super::log::RoundTime;
use super::rank::Blocked;
use super::round_passing::{Plan, RoundGroup};
use super::run::Run;
use super::world::{Purpose, World};
use crate::application::{Operation, Pace, RoundProgram};
use crate::platform::Platform;
use crate::sharing::{BundleSum, Demand};

/// Maximum number of uses of links in the stored demands of a program, 16 bytes each. Small in tests, so that they
/// reach it.
const MOST_USES: usize = if cfg!(test) { 12 } else { 4_000_000 };

/// Relative tolerance of times for rounding.
const ROUNDING: f64 = 1e-9;

/// A group while it is built.
struct Span {
    rounds: Range<u32>,
    delay: f64,
    end: f64,
}

impl Run {
    /// Makes a rank arrive at the rounds of a program, or continue with them; returns whether it waits.
    pub fn pass_rounds(&mut self, world: &mut World, rank: u32, part: u32) -> Result<bool, ExecutionError> {
        let at = part as usize;
        if self.program.rounds[at].driver == Some(rank) {
            self.note_rounds(world, part);
        } else if self.arrive(rank) {
            self.program.rounds[at].driver = Some(rank);
            if self.program.rounds[at].plan.is_none() {
                self.make_plan(world, part)?;
            }
        } else {
            return Ok(true);
        }
        if self.begin_rounds(world, rank, part)? {
            // The rank executes this step again.
            self.ranks.all[rank as usize].next -= 1;
            return Ok(self.ranks.await_level(rank, 0));
        }
        let rounds = &mut self.program.rounds[at];
        (rounds.driver, rounds.next) = (None, 0);
        self.ranks.all[rank as usize].blocked = Blocked::Otherwise;
        self.release(world, self.ranks.all[rank as usize].group);
        Ok(true)
    }

    /// Starts the next rounds, or the time after the last ones; returns false if nothing is left.
    fn begin_rounds(&mut self, world: &mut World, rank: u32, part: u32) -> Result<bool, ExecutionError> {
        let at = &mut self.program.rounds[part as usize];
        let Some(plan) = &at.plan else { return Ok(false) };
        let (next, count, rest) = (at.next as usize, plan.groups.len(), plan.rest);
        if next > count || (next == count && rest <= 0.0) {
            return Ok(false);
        }
        let group = plan.groups.get(next).cloned();
        (at.next, at.begun) = (at.next + 1, world.now.rounded());
        let purpose = Purpose::Rank { rank, level: 0 };
        let Some(RoundGroup { rounds, delay, kept }) = group else {
            let rest = Demand { latency: rest, ..Demand::default() };
            world.start(self.slot, &mut self.pending, purpose, &rest);
            self.ranks.start(rank, 0);
            return Ok(true);
        };
        self.count_messages(world, part, rounds.clone());
        if let Some(kept) = kept.and_then(|place| self.program.demands.get(place)) {
            world.start(self.slot, &mut self.pending, purpose, &Demand { latency: delay, ..kept });
        } else {
            self.sum_up(world, part, &mut (0..0), rounds)?;
            let mut sum = std::mem::take(&mut world.bundles);
            world.start(self.slot, &mut self.pending, purpose, &sum.demand(delay));
            world.bundles = sum;
        }
        self.ranks.start(rank, 0);
        Ok(true)
    }

    /// Counts the messages of rounds that begin, if enabled.
    fn count_messages(&mut self, world: &mut World, part: u32, rounds: Range<u32>) {
        let Some(counts) = &mut world.counts else { return };
        let at = &mut self.program.rounds[part as usize];
        let classes = at.program.classes();
        counts.find_places(self.job, classes, &mut at.counted);
        for number in rounds.flat_map(|round| at.program.numbers(at.program.shape_of(round))) {
            let message = at.program.message(number);
            let place = at.counted[classes.of[number as usize] as usize];
            let hosts = (self.hosts[message.from as usize], self.hosts[message.to as usize]);
            counts.count(&world.platform, place, message.bytes - classes.envelope, hosts);
        }
    }

    /// Records the rounds that have ended, if logged.
    fn note_rounds(&self, world: &mut World, part: u32) {
        let at = &self.program.rounds[part as usize];
        let group = at.plan.as_ref().and_then(|plan| plan.groups.get(at.next as usize - 1));
        if let (Some(log), Some(group)) = (&mut world.log, group) {
            for round in group.rounds.clone() {
                log.push_round(RoundTime {
                    job: self.job,
                    part,
                    round,
                    begun: at.begun,
                    end: world.now.rounded(),
                });
            }
        }
    }

    /// Adds the demand of a round.
    fn add_round(
        &self,
        world: &mut World,
        part: u32,
        round: u32,
        sum: &mut BundleSum,
    ) -> Result<(), ExecutionError> {
        let at = &self.program.rounds[part as usize];
        let shape = at.program.shape_of(round);
        let kept = at.plan.as_ref().and_then(|plan| plan.kept[shape as usize]);
        if let Some(kept) = kept.and_then(|place| self.program.demands.get(place)) {
            sum.add(&world.platform, &kept);
        } else {
            self.route(world, &at.program, shape)?;
            sum.add(&world.platform, &world.bundle.demand(0.0));
        }
        Ok(())
    }

    /// Builds the bundle of the messages of a shape.
    fn route(&self, world: &mut World, program: &RoundProgram, shape: u32) -> Result<(), ExecutionError> {
        let host = |rank: u32| self.hosts[rank as usize];
        let messages =
            program.messages(shape).map(|message| (host(message.from), host(message.to), message.bytes));
        let made = world.bundle.make(&world.platform, &world.network, messages);
        made.map_err(|route| ExecutionError::no_route(&world.platform, route))
    }

    /// Routes all shapes, follows the ranks through them, and groups the rounds.
    fn make_plan(&mut self, world: &mut World, part: u32) -> Result<(), ExecutionError> {
        let program = Arc::clone(&self.program.rounds[part as usize].program);
        let (mut kept, mut seconds, mut durations) = (Vec::new(), Vec::new(), Vec::new());
        for shape in 0..program.shapes() {
            self.route(world, &program, shape)?;
            seconds.push(world.bundle.seconds());
            durations.extend(world.bundle.durations(&world.platform, &world.network));
            kept.push(keep(&mut self.program.demands, &world.bundle.demand(0.0)));
        }
        self.program.rounds[part as usize].plan = Some(Plan { groups: Vec::new(), rest: 0.0, kept });
        let mut times = AloneTimes {
            program: &program,
            durations,
            flops: self.flops_per_second(&world.platform),
            last: vec![0.0; program.rounds() as usize],
        };
        let end = program.follow(&mut times).into_iter().fold(0.0, f64::max);
        let by_round: Vec<f64> =
            (0..program.rounds()).map(|round| seconds[program.shape_of(round) as usize]).collect();
        let groups = self.group(world, part, &times.last, &by_round)?;
        let done = groups.last().map_or(0.0, |group| group.end);
        let groups: Result<_, _> =
            groups.into_iter().map(|group| self.finished(world, part, group)).collect();
        if let Some(plan) = &mut self.program.rounds[part as usize].plan {
            (plan.groups, plan.rest) = (groups?, (end - done).max(0.0));
        }
        Ok(())
    }

    /// Groups rounds: a round that does not fit into the time until its last message arrives is merged with those
    /// before.
    fn group(
        &self,
        world: &mut World,
        part: u32,
        last: &[f64],
        seconds: &[f64],
    ) -> Result<Vec<Span>, ExecutionError> {
        let (mut groups, mut arrived): (Vec<Span>, f64) = (Vec::new(), 0.0);
        // The rounds that are contained in the sum of `world`.
        let mut summed = 0..0;
        for (round, (&last, &alone)) in last.iter().zip(seconds).enumerate() {
            arrived = arrived.max(last);
            let mut rounds = round as u32..round as u32 + 1;
            let mut takes = alone;
            let mut begin = groups.last().map_or(0.0, |group| group.end);
            while begin + takes > arrived * (1.0 + ROUNDING)
                && let Some(before) = groups.pop()
            {
                rounds.start = before.rounds.start;
                begin = groups.last().map_or(0.0, |group| group.end);
                self.sum_up(world, part, &mut summed, rounds.clone())?;
                takes = world.bundles.seconds();
            }
            let end = arrived.max(begin + takes);
            groups.push(Span { rounds, delay: end - begin - takes, end });
        }
        Ok(groups)
    }

    /// Completes a group with its demand, if it is stored.
    fn finished(&mut self, world: &mut World, part: u32, span: Span) -> Result<RoundGroup, ExecutionError> {
        let Span { rounds, delay, .. } = span;
        let kept = if rounds.len() == 1 {
            let at = &self.program.rounds[part as usize];
            at.plan.as_ref().and_then(|plan| plan.kept[at.program.shape_of(rounds.start) as usize])
        } else {
            self.sum_up(world, part, &mut (0..0), rounds.clone())?;
            keep(&mut self.program.demands, &world.bundles.demand(0.0))
        };
        Ok(RoundGroup { rounds, delay, kept })
    }

    /// Makes the sum of `world` that of some rounds; `summed` are the rounds that it contains.
    fn sum_up(
        &self,
        world: &mut World,
        part: u32,
        summed: &mut Range<u32>,
        rounds: Range<u32>,
    ) -> Result<(), ExecutionError> {
        let mut sum = std::mem::take(&mut world.bundles);
        if summed.start == summed.end || summed.start < rounds.start || summed.end > rounds.end {
            sum.begin(&world.platform);
            *summed = rounds.start..rounds.start;
        }
        for round in (rounds.start..summed.start).chain(summed.end..rounds.end) {
            self.add_round(world, part, round, &mut sum)?;
        }
        *summed = rounds;
        world.bundles = sum;
        Ok(())
    }

    /// Operations per second of each rank while all other ranks of the job on its host compute.
    fn flops_per_second(&self, platform: &Platform) -> Vec<f64> {
        let mut there = vec![0_u32; platform.hosts().len()];
        self.hosts.iter().for_each(|&host| there[host as usize] += 1);
        let rate = |&host: &u32| {
            let described = &platform.hosts()[host as usize];
            let share = f64::from(described.cores) / f64::from(there[host as usize]);
            described.speed * share.min(1.0)
        };
        self.hosts.iter().map(rate).collect()
    }
}

/// Stores a demand; returns None if too many are stored already.
fn keep(demands: &mut Demands, demand: &Demand) -> Option<u32> {
    (demands.uses() + demand.uses.len() <= MOST_USES).then(|| demands.keep(demand))
}

/// The times of a job that has the platform to itself.
struct AloneTimes<'a> {
    program: &'a RoundProgram,
    /// Durations of the messages of all shapes, seconds; and operations per second of each rank.
    durations: Vec<f64>,
    flops: Vec<f64>,
    /// Arrival of the last message of each round.
    last: Vec<f64>,
}

impl Pace for AloneTimes<'_> {
    fn seconds(&self, rank: u32, operation: Operation) -> f64 {
        match operation {
            Operation::Compute(flops) if flops > 0.0 => flops / self.flops[rank as usize],
            Operation::Take(seconds) => seconds,
            _ => 0.0,
        }
    }

    fn overheads(&self) -> (f64, f64) {
        self.program.overheads()
    }

    fn arrival(&mut self, sending: usize, member: usize, begin: f64) -> f64 {
        let (round, place) = self.program.place(sending, member);
        let arrives = begin + self.durations[place];
        let last = &mut self.last[round as usize];
        *last = last.max(arrives);
        arrives
    }
}
