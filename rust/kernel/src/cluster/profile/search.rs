//! Searching a profile: when a job fits for its whole duration, and on which nodes.
use crate::cluster::availability::{Place, PlacementRequest, Unanswered};
use crate::cluster::calendar::Occurrences;
use crate::cluster::unreserved_nodes::place_at;
use crate::cluster::{NodeTasks, Request};
use crate::time::Time;

use super::level_minima::LevelMinima;
use super::minima::Minima;
use super::window::Window;
use super::{Nodes, Profile};

impl Profile {
    /// Returns the earliest instant in [now, before) at which the job fits for its whole duration, and writes its
    /// placement then.
    pub fn earliest(
        &self,
        want: &PlacementRequest<'_>,
        before: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<Option<f64>, Unanswered> {
        self.earliest_within(want, self.now, before, place, placement)
    }

    /// Returns the earliest instant in [from, before) at which the job fits, if none in [now, from) is known to exist.
    pub fn earliest_within(
        &self,
        want: &PlacementRequest<'_>,
        from: f64,
        before: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<Option<f64>, Unanswered> {
        if let Some(calendar) = want.calendar {
            return self.earliest_by_calendar(want, calendar.occurrences, from, before, place, placement);
        }
        match &self.nodes {
            Nodes::Levels(levels) => {
                let minima = LevelMinima::of_asked(self, levels, want.request);
                self.earliest_by_rows(minima, want, from, before, place, placement)
            }
            Nodes::Rows(rows) => {
                let minima = Minima::of_asked(self, rows, want.request);
                self.earliest_by_rows(minima, want, from, before, place, placement)
            }
            Nodes::Steps(_) => self.earliest_by_steps(want, from, before, place, placement),
        }
    }

    /// Like `earliest_within`, if each node has its own steps.
    fn earliest_by_steps(
        &self,
        want: &PlacementRequest<'_>,
        from: f64,
        before: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<Option<f64>, Unanswered> {
        let lacks = self.lacks(want);
        let count = self.totals.times.len();
        // The totals of the steps `step..admitted` are known to admit the job.
        let mut step = self.totals.find(from);
        let mut admitted = step;
        while step < count {
            let start = self.totals.times[step].max(self.now);
            if start >= before {
                return Ok(None);
            }
            let end = start + want.duration;
            admitted = admitted.max(step);
            let obstacle = loop {
                if admitted >= count || (admitted > step && self.totals.times[admitted] >= end) {
                    break None;
                }
                if self.is_reliable(admitted) && lacks(admitted) {
                    break Some(admitted);
                }
                admitted += 1;
            };
            if let Some(obstacle) = obstacle {
                step = obstacle + 1;
            } else if self.fits_at(want, start, place, placement)? {
                return Ok(Some(start));
            } else {
                step = self.totals.find(self.not_before(want, start)).max(step + 1);
            }
        }
        Ok(None)
    }

    /// The next instant after this one at which a job or a reservation begins or ends.
    #[must_use]
    pub fn next_change(&self, want: &PlacementRequest<'_>, instant: f64) -> f64 {
        let step = self.totals.times.partition_point(|&begin| begin <= instant);
        let next = self.totals.times.get(step).copied().unwrap_or(f64::INFINITY);
        want.calendar.map_or(next, |calendar| next.min(calendar.occurrences.next_from(instant.next_up())))
    }

    /// The earliest instant in [from, before) at which the totals admit a job for its whole duration, if it releases
    /// its present placement from `own` on. A lower bound of the earliest instant at which it fits.
    #[must_use]
    pub fn admitted_from(
        &self,
        want: &PlacementRequest<'_>,
        from: f64,
        before: f64,
        own: f64,
    ) -> Option<f64> {
        if want.calendar.is_some() || !self.are_totals_reliable() {
            return (from < before).then_some(from);
        }
        let lacks = self.lacks(want);
        let times = &self.totals.times;
        let mut start = from.max(self.now);
        for step in self.totals.find(from)..times.len() {
            // From `own` on the job releases as much as it needs.
            if start >= before || times[step] >= (start + want.duration).min(own) {
                break;
            }
            if lacks(step) {
                start = times.get(step + 1).copied().unwrap_or(f64::INFINITY);
            }
        }
        (start < before).then_some(start)
    }

    /// Returns a test of whether the totals of a step are below the need of the job.
    pub(super) fn lacks<'a>(&'a self, want: &PlacementRequest<'a>) -> impl Fn(usize) -> bool + use<'a> {
        let (request, tasks) = (want.request, want.tasks);
        let (width, first) = (self.totals.width, request.nodes.block(self.resources).start);
        move |step| {
            let totals = &self.totals.values[step * width + first..];
            totals
                .iter()
                .zip(&request.amounts)
                .any(|(&total, amount)| total < amount.saturating_mul(i64::from(tasks)))
        }
    }

    /// Like `earliest_within`, with reservations: a job may also fit when a reservation begins or ends. Between such
    /// instants and steps, the set of nodes closed to the job only grows.
    fn earliest_by_calendar(
        &self,
        want: &PlacementRequest<'_>,
        occurrences: &Occurrences,
        from: f64,
        before: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<Option<f64>, Unanswered> {
        let lacks = self.lacks(want);
        let times = &self.totals.times;
        let mut start = times[self.totals.find(from)].max(occurrences.last_until(from)).max(self.now);
        while start < before {
            let mut steps = self.steps_within(start, start + want.duration);
            let bound = match steps.find(|&step| self.is_reliable(step) && lacks(step)) {
                Some(obstacle) => times.get(obstacle + 1).copied().unwrap_or(f64::INFINITY),
                None if self.fits_at(want, start, place, placement)? => return Ok(Some(start)),
                None => self.not_before(want, start),
            }
            .max(start.next_up());
            let step = times.partition_point(|&begin| begin < bound);
            let next = times.get(step).copied().unwrap_or(f64::INFINITY).min(occurrences.next_from(bound));
            start = next;
        }
        Ok(None)
    }

    /// Returns an instant before which the job does not fit, if it does not fit at `start`.
    ///
    /// A node admits more only after the last of its scarcest steps ends, and never more than without jobs.
    fn not_before(&self, want: &PlacementRequest<'_>, start: f64) -> f64 {
        let Nodes::Steps(nodes) = &self.nodes else { return start };
        let window = Window::new(self, nodes, start, start + want.duration);
        let mut slots = 0;
        let mut gains = Vec::new();
        for node in self.node_sets.nodes_from(want.request.nodes, 0) {
            let offered = &self.offered[node as usize * self.resources..][..self.resources];
            let (admitted, until) = window.scarcest(node, want.request);
            slots += u64::from(admitted);
            gains.push((Time(until), u64::from(want.request.slots(offered, true).saturating_sub(admitted))));
        }
        gains.retain(|&(_, gain)| gain > 0);
        gains.sort_unstable();
        for (time, gain) in gains {
            if slots >= u64::from(want.tasks) {
                break;
            }
            slots += gain;
            if slots >= u64::from(want.tasks) {
                return time.0;
            }
        }
        start
    }

    /// Returns whether the job fits for its whole duration from `start`; if so, writes its placement.
    pub fn fits_at(
        &self,
        want: &PlacementRequest<'_>,
        start: f64,
        place: &mut impl Place,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        let end = start + want.duration;
        match &self.nodes {
            Nodes::Levels(levels) => {
                place_at(place, &LevelMinima::over(self, levels, start, end), want, start, placement)
            }
            Nodes::Rows(rows) => {
                place_at(place, &Minima::over(self, rows, start, end), want, start, placement)
            }
            Nodes::Steps(nodes) => {
                place_at(place, &Window::new(self, nodes, start, end), want, start, placement)
            }
        }
    }

    /// Returns whether a node has room for its tasks of a job at an instant, once another job, if one is given, has
    /// released its own tasks there. O(resources).
    #[must_use]
    pub fn has_room_at(
        &self,
        request: &Request,
        part: NodeTasks,
        instant: f64,
        other: Option<(&Request, NodeTasks)>,
    ) -> bool {
        let (resources, node) = (self.resources, part.node as usize);
        let released = |resource| other.map_or(0, |(request, part)| self.amount_on(request, part, resource));
        let offered = &self.offered[node * resources..][..resources];
        let fits = |free: &dyn Fn(usize) -> i64, is_idle: bool| {
            request.slots_of((0..resources).map(|resource| free(resource) + released(resource)), is_idle)
                >= part.tasks
        };
        let has_all = |free: &dyn Fn(usize) -> i64| {
            (0..resources).all(|resource| free(resource) + released(resource) >= offered[resource])
        };
        match &self.nodes {
            Nodes::Levels(levels) => {
                let row = levels.row(self.totals.find(instant));
                let free = |resource| levels.amount(row, part.node, resource);
                fits(&free, request.exclusive && has_all(&free))
            }
            Nodes::Rows(rows) => {
                let step = self.totals.find(instant);
                let free = |resource| i64::from(rows.plane(step, resource)[node]);
                let holds_nothing = other.is_some() && (0..resources).all(|resource| released(resource) == 0);
                let others = i64::from(rows.plane(step, resources)[node]) + i64::from(holds_nothing);
                fits(&free, request.exclusive && others >= 0 && has_all(&free))
            }
            Nodes::Steps(nodes) => {
                let values = nodes[node].at(nodes[node].find(instant));
                let jobs = values[resources] + i64::from(other.is_some());
                fits(&|resource| values[resource], jobs == 0)
            }
        }
    }
}
