//! Runs of a node: the times over which it has a slot without a break.
use crate::cluster::request::Request;

use super::rows::Rows;
use super::steps::Steps;
use super::window::slots_of_step;
use super::{Nodes, Profile};

impl Profile {
    /// Visits the runs [begin, end) of a node from now on that reach into a span of time.
    pub fn visit_runs(
        &self,
        node: u32,
        request: &Request,
        span: (f64, f64),
        visit: &mut impl FnMut(f64, f64),
    ) {
        if !self.node_sets.contains(request.nodes, node) || span.1 < self.now {
            return;
        }
        match &self.nodes {
            Nodes::Rows(rows) => {
                self.runs_of(&self.totals.times, |step| rows.has_slot(step, node, request), span, visit)
            }
            Nodes::Steps(nodes) => {
                let steps = &nodes[node as usize];
                self.runs_of(&steps.times, |step| steps.has_slot(step, request), span, visit);
            }
        }
    }

    fn runs_of(
        &self,
        times: &[f64],
        has_slot: impl Fn(usize) -> bool,
        (begin, end): (f64, f64),
        visit: &mut impl FnMut(f64, f64),
    ) {
        let in_force = |time: f64| times.partition_point(|&begin| begin <= time) - 1;
        let past = in_force(self.now);
        let mut step = in_force(begin.max(self.now));
        // The run in force when the span begins began earlier.
        while step > past && has_slot(step) && has_slot(step - 1) {
            step -= 1;
        }
        while step < times.len() && (times[step] < end || times[step] <= self.now) {
            if !has_slot(step) {
                step += 1;
                continue;
            }
            let first = times[step].max(self.now);
            while step < times.len() && has_slot(step) {
                step += 1;
            }
            visit(first, times.get(step).copied().unwrap_or(f64::INFINITY));
        }
    }

    /// Whether a node has a slot just before an instant that is later than now, at which something begins.
    #[must_use]
    pub fn has_slot_before(&self, node: u32, request: &Request, instant: f64) -> bool {
        if !self.node_sets.contains(request.nodes, node) {
            return false;
        }
        let before = |times: &[f64]| times.partition_point(|&begin| begin < instant) - 1;
        match &self.nodes {
            Nodes::Rows(rows) => rows.has_slot(before(&self.totals.times), node, request),
            Nodes::Steps(nodes) => {
                let steps = &nodes[node as usize];
                steps.has_slot(before(&steps.times), request)
            }
        }
    }
}

impl Steps {
    fn has_slot(&self, step: usize, request: &Request) -> bool {
        slots_of_step(request, self.at(step)) > 0
    }
}

impl Rows {
    fn has_slot(&self, step: usize, node: u32, request: &Request) -> bool {
        let free = |plane: usize| self.plane(step, plane)[node as usize];
        let is_idle = !request.exclusive || free(request.amounts.len()) == 0;
        let mut amounts = request.amounts.iter().enumerate().filter(|&(_, &amount)| amount > 0);
        is_idle && amounts.all(|(plane, &amount)| i64::from(free(plane)) >= amount)
    }
}
