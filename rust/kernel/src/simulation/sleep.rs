//! Sleeping nodes (S21): transitions end at the begin of an instant; nodes fall asleep or wake at its end.
use crate::state::Demand;
use crate::time::Time;

use super::{Feed, Simulation, View};

impl<F: Feed> Simulation<F> {
    /// Return when the next transition ends, the next idle time is over, or the number of warm nodes changes.
    pub(super) fn next_power_event(&self) -> Time {
        match (&self.scenario.sleep, &self.state.sleep) {
            (Some(rules), Some(sleep)) => sleep.next_time(rules, self.state.now),
            _ => Time::NEVER,
        }
    }

    /// End the transitions that are over by now.
    pub(super) fn end_transitions(&mut self) {
        while let (Some(rules), Some(sleep)) = (&self.scenario.sleep, &mut self.state.sleep) {
            let Some(node) = sleep.end_transition(rules, &self.state.machine, self.state.now) else { break };
            self.state.changed();
            self.recorders.node_changed(View { scenario: &self.scenario, state: &self.state }, node);
        }
    }

    /// Wake nodes, and put others to sleep.
    pub(super) fn sleep_and_wake(&mut self) {
        if self.scenario.sleep.is_none() {
            return;
        }
        let (now, demand) = (self.state.now, self.demand());
        let (Some(rules), Some(sleep)) = (&self.scenario.sleep, &mut self.state.sleep) else { return };
        for node in sleep.decide(rules, now, &demand) {
            self.state.changed();
            self.recorders.node_changed(View { scenario: &self.scenario, state: &self.state }, node);
        }
    }

    /// Return the nodes that the first waiting job could use, if nodes wake for it. O(nodes with room for it · log n).
    fn demand(&self) -> Demand {
        let view = self.view();
        let Some(sleep) = self.state.sleep.as_ref().filter(|sleep| sleep.needs_demand(view.now())) else {
            return Demand::default();
        };
        let Some(head) = sleep.head.filter(|&job| view.is_in_queue(job)) else { return Demand::default() };
        Demand { tasks: u64::from(view.scenario.job(head).tasks), nodes: view.nodes_with_slots(head) }
    }

    /// Record the first waiting job within its limits after a pass: nodes may wake for it.
    #[inline(never)]
    pub(super) fn look_at_head(&mut self) {
        if !self.scenario.sleep.as_ref().is_some_and(|rules| rules.wakes_for_queue) {
            return;
        }
        self.order_queue();
        let view = self.view();
        let head = view.state.queue.jobs().into_iter().find(|&job| view.over_limit(job).is_none());
        if let Some(sleep) = &mut self.state.sleep {
            sleep.head = head;
        }
    }
}
