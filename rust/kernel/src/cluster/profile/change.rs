//! Changes of a profile: a job holds its nodes over a time, or releases them.
use std::ops::Range;

use crate::cluster::placement::NodeTasks;
use crate::cluster::request::Request;

use super::held::Held;
use super::rows::Rows;
use super::{Nodes, Profile};

impl Profile {
    /// Allocates a placement to a job over [from, until).
    pub fn hold(&mut self, request: &Request, placement: &[NodeTasks], from: f64, until: f64) {
        self.change(request, placement, from, until, -1, false);
    }

    /// Allocates a placement as `hold` does, to look where other jobs fit beside it. Returns whether `release` undoes it:
    /// where levels would have to represent negative amounts, these count as 0, which costs less than a conversion.
    pub fn hold_on_trial(
        &mut self,
        request: &Request,
        placement: &[NodeTasks],
        from: f64,
        until: f64,
    ) -> bool {
        self.change(request, placement, from, until, -1, true) || !matches!(self.nodes, Nodes::Levels(_))
    }

    /// Releases a placement over [from, until); the job must hold it.
    pub fn release(&mut self, request: &Request, placement: &[NodeTasks], from: f64, until: f64) {
        self.change(request, placement, from, until, 1, false);
    }

    /// Returns false if an amount becomes negative.
    fn change(
        &mut self,
        request: &Request,
        placement: &[NodeTasks],
        from: f64,
        until: f64,
        sign: i64,
        is_trial: bool,
    ) -> bool {
        if until <= from.max(self.now) {
            return true;
        }
        let mut totals = std::mem::take(&mut self.held_in_all);
        self.count_held(request, placement, &mut totals);
        let first = if from <= self.now { 0 } else { self.marked_step(from) };
        let last = self.marked_step(until);
        self.totals.add(first..last, &totals, sign);
        self.held_in_all = totals;
        let has_all = match &self.nodes {
            Nodes::Steps(_) => self.change_steps(request, placement, (from, until), sign),
            Nodes::Levels(_) | Nodes::Rows(_) => self.change_rows(first..last, sign, is_trial),
        };
        if !has_all {
            self.overcommitted_until = self.overcommitted_until.max(until);
        }
        self.count_at(last, sign);
        self.count_at(first, sign);
        has_all
    }

    /// Lists the amounts that a job holds on its nodes, and adds them up for each node set.
    fn count_held(&mut self, request: &Request, placement: &[NodeTasks], totals: &mut [i64]) {
        totals.fill(0);
        self.held.clear();
        for &part in placement {
            let known = self.held.len();
            for plane in 0..self.resources as u32 {
                let resource = plane as usize;
                let amount = self.amount_on(request, part, resource);
                if amount == 0 {
                    continue;
                }
                self.held.push(Held { node: part.node, plane, amount });
                totals[resource] += amount;
                for set in self.node_sets.others_of(part.node) {
                    totals[set.block(self.resources)][resource] += amount;
                }
            }
            if self.held.len() == known {
                self.held.push(Held { node: part.node, plane: self.resources as u32, amount: 1 });
            }
        }
    }

    /// The amount of a resource that a job holds on one of its nodes.
    #[inline]
    pub(super) fn amount_on(&self, request: &Request, part: NodeTasks, resource: usize) -> i64 {
        if request.exclusive {
            self.offered[part.node as usize * self.resources + resource]
        } else {
            request.amounts[resource] * i64::from(part.tasks)
        }
    }

    /// Changes the steps of each node; returns false if an amount becomes negative.
    fn change_steps(
        &mut self,
        request: &Request,
        placement: &[NodeTasks],
        (from, until): (f64, f64),
        sign: i64,
    ) -> bool {
        let mut amounts = std::mem::take(&mut self.held_here);
        let mut has_all = true;
        for &part in placement {
            for (resource, amount) in amounts.iter_mut().take(self.resources).enumerate() {
                *amount = self.amount_on(request, part, resource);
            }
            // The last value is the number of jobs: one more, or one less.
            amounts[self.resources] = 1;
            let Nodes::Steps(nodes) = &mut self.nodes else { break };
            let node = &mut nodes[part.node as usize];
            node.trim(self.now);
            let first = node.begin(from, self.now);
            let last = node.split(until);
            node.add(first..last, &amounts, sign);
            has_all &= sign > 0 || !node.is_negative(first..last, self.resources);
            node.join(last);
            node.join(first);
        }
        self.held_here = amounts;
        has_all
    }

    /// Changes the rows of some steps; returns false if an amount becomes negative. Levels that cannot represent the
    /// result are converted to rows of amounts, unless it is for a trial.
    fn change_rows(&mut self, steps: Range<usize>, sign: i64, is_trial: bool) -> bool {
        if let Nodes::Levels(levels) = &mut self.nodes {
            if levels.change(steps.clone(), &self.held, sign) {
                return true;
            }
            if is_trial && levels.lower_all(steps.clone(), &self.held) {
                return false;
            }
            self.nodes = Nodes::Rows(Rows::of_levels(levels, self.node_count as usize));
        }
        let Nodes::Rows(rows) = &mut self.nodes else { return true };
        rows.change(steps, &self.held, sign as i16) >= 0 || sign > 0
    }

    /// The step of the totals that begins at `time`; a new step has no marks.
    fn marked_step(&mut self, time: f64) -> usize {
        let known = self.totals.times.len();
        let step = self.totals.split(time);
        if self.totals.times.len() > known {
            *self.mark(step) = 0;
            self.nodes.split(step - 1);
        }
        step
    }

    /// Number of jobs that begin or end at a step of the totals.
    fn mark(&mut self, step: usize) -> &mut i64 {
        &mut self.totals.values[(step + 1) * self.totals.width - 1]
    }

    /// Counts one more, or one less, job that begins or ends at a step, and removes the step if none does.
    fn count_at(&mut self, step: usize, sign: i64) {
        // The first step is the current state: it stays.
        if step > 0 {
            let mark = self.mark(step);
            *mark -= sign;
            if *mark == 0 {
                self.totals.remove(step);
                self.nodes.remove(step);
            }
        }
    }
}
