//! The engine: running activities, the resources they use, and when each ends.
use super::blocks::Range;
use super::demand::{Demand, Rule};
use super::slots::{Activities, Activity, End, Hold, State, Use, User};
use crate::platform::Sharing;
use crate::time::FineTime;

impl Activities {
    /// Starts an activity; returns its handle, which is valid until the activity ends or is cancelled.
    ///
    /// Activities that ended before `now` must have been removed already.
    pub fn start(&mut self, now: FineTime, demand: &Demand, tag: u64) -> u32 {
        self.flush_before(now);
        let wanted = demand.uses.iter().filter(|item| item.1 > 0.0);
        let uses = self.uses.allocate(wanted.clone().count());
        for (slot, &(resource, weight)) in self.uses.get_mut(uses).iter_mut().zip(wanted) {
            *slot = Use { resource, place: 0, weight };
        }
        let unit = if demand.by_rate { 1.0 } else { self.unit(uses) };
        let sequence = self.started;
        self.started += 1;
        let activity = Activity {
            tag,
            sequence,
            order: 0,
            remaining: demand.amount,
            since: now,
            rate: 0.0,
            bound: demand.bound,
            penalty: demand.penalty,
            by_rate: demand.by_rate,
            unit,
            level: 0.0,
            hold: Hold::Unsolved,
            uses,
            state: State::Waiting,
        };
        let handle = self.free.pop().unwrap_or(self.slots.len() as u32);
        if handle as usize == self.slots.len() {
            self.slots.push(activity);
        } else {
            self.slots[handle as usize] = activity;
        }
        if demand.latency > 0.0 {
            self.ends.set(handle, End::new(now.after(demand.latency), sequence));
        } else {
            self.run(now, handle);
        }
        handle
    }

    /// Cancels an activity before its end.
    pub fn cancel(&mut self, now: FineTime, activity: u32) {
        self.flush_before(now);
        self.end(now, activity);
    }

    /// The time of the next event, i.e. the end of an activity or of a latency; infinity if no event is planned.
    pub fn next_time(&mut self) -> FineTime {
        self.flush();
        self.ends.peek().map_or(FineTime::NEVER, |(end, _)| end.time())
    }

    /// Removes one activity that has ended by `now`; returns its tag. They come in order of end, then start.
    pub fn pop_finished(&mut self, now: FineTime) -> Option<u64> {
        self.flush_before(now);
        while let Some((end, activity)) = self.ends.peek() {
            let time = end.time();
            if time > now {
                return None;
            }
            if self.slots[activity as usize].state == State::Waiting {
                self.flush_before(time);
                self.ends.remove(activity);
                self.run(time, activity);
                self.flush_before(now);
                continue;
            }
            let tag = self.slots[activity as usize].tag;
            self.end(time, activity);
            return Some(tag);
        }
        None
    }

    /// Rounds the progress of the activities on some resources since the last event to whole units, half to even, as
    /// `SimGrid` does for disks. Must be called at every event, before anything else of it is processed. O(activities ·
    /// log).
    pub fn round_progress(&mut self, now: FineTime, on: impl Fn(u32) -> bool) {
        self.flush_before(now);
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        members.extend(self.ends.iter().map(|(_, activity)| activity));
        for &handle in &members {
            let activity = &mut self.slots[handle as usize];
            let first = self.uses.get(activity.uses).first();
            if activity.state != State::Running || !first.is_some_and(|item| on(item.resource)) {
                continue;
            }
            let done = (activity.rate * now.since(activity.since)).round_ties_even();
            activity.remaining = (activity.remaining - done).max(0.0);
            activity.since = now;
            let end =
                if activity.remaining > 0.0 { now.after(activity.remaining / activity.rate) } else { now };
            self.ends.set(handle, End::new(end, activity.sequence));
        }
        self.members = members;
    }

    /// Units per second used of a resource now; of a fat pipe, by its largest user.
    pub fn load(&mut self, resource: u32) -> f64 {
        self.flush();
        let (items, slots) = (&self.uses.items, &self.slots);
        let users = self.users[resource as usize].iter();
        let taken = users.map(|user| items[user.at as usize].weight * slots[user.activity as usize].rate);
        match self.resources[resource as usize].sharing {
            // Start the fold at 0.0: `sum` of nothing would return -0.
            Sharing::Shared => taken.fold(0.0, |sum, rate| sum + rate),
            Sharing::FatPipe => taken.fold(0.0, f64::max),
        }
    }

    /// Units of work per second that an activity does now.
    pub fn rate(&mut self, activity: u32) -> f64 {
        self.flush();
        self.slots[activity as usize].rate
    }

    /// Remaining work of an activity.
    pub fn remaining(&mut self, now: FineTime, activity: u32) -> f64 {
        self.flush_before(now);
        let of = &self.slots[activity as usize];
        if of.rate > 0.0 { (of.remaining - of.rate * now.since(of.since)).max(0.0) } else { of.remaining }
    }

    /// Number of activities that began to use resources before this one; None if it uses none.
    #[cfg(test)]
    pub(super) fn order(&self, activity: u32) -> Option<u64> {
        let of = &self.slots[activity as usize];
        (of.state == State::Running).then_some(of.order)
    }

    fn unit(&self, uses: Range) -> f64 {
        match (self.rule, self.uses.get(uses)) {
            (Rule::Rates, _) | (_, []) => 1.0,
            (_, [first, others @ ..]) if others.iter().all(|other| other.weight == first.weight) => {
                first.weight
            }
            _ => 0.0,
        }
    }

    /// Starts the use of resources after the latency.
    fn run(&mut self, now: FineTime, handle: u32) {
        let activity = &mut self.slots[handle as usize];
        activity.state = State::Running;
        activity.since = now;
        activity.order = self.running;
        self.running += 1;
        if activity.remaining <= 0.0 || (activity.uses.count == 0 && activity.bound.is_infinite()) {
            activity.remaining = 0.0;
            activity.state = State::Ending;
            self.ends.set(handle, End::new(now, activity.sequence));
            return;
        }
        let range = activity.uses;
        for at in range.first..range.first + range.count {
            let item = &mut self.uses.items[at as usize];
            let users = &mut self.users[item.resource as usize];
            item.place = users.len() as u32;
            users.push(User { activity: handle, at });
        }
        self.consumers += 1;
        self.fresh.push(handle);
        self.touched_at = now;
    }

    fn end(&mut self, now: FineTime, handle: u32) {
        let activity = &mut self.slots[handle as usize];
        let consumes = activity.state == State::Running;
        activity.state = State::Gone;
        let range = activity.uses;
        self.ends.remove(handle);
        if consumes {
            self.consumers -= 1;
            let rate = self.unbind_bottleneck(handle);
            for at in range.first..range.first + range.count {
                let Use { resource, place, weight } = self.uses.items[at as usize];
                if let Some(loads) = &mut self.loads {
                    loads.change(resource);
                }
                let users = &mut self.users[resource as usize];
                users.swap_remove(place as usize);
                self.load[resource as usize] -= weight * rate;
                if let Some(moved) = users.get(place as usize) {
                    self.uses.items[moved.at as usize].place = place;
                } else if users.is_empty() {
                    self.load[resource as usize] = 0.0;
                }
                if self.holding[resource as usize] > 0 {
                    self.touched.push(resource);
                }
            }
            self.touched_at = now;
        }
        self.uses.give_back(range);
        self.free.push(handle);
    }
}
