//! How many slots requests have on the machine now, counted as far as was asked.
//!
//! Where several resources matter, totals admit jobs that no node has room for. Jobs that share a request are then passed over
//! together: O(log n) for each node with a slot once the machine has changed, O(log r) after that for r requests. Where jobs take
//! consecutive nodes, so are those that need more than any row of neighbours has, at the same cost.
use std::cell::RefCell;

use crate::cluster::{Availability, Request};
use crate::placement::Allocator;
use crate::state::View;

/// The slots of one request.
#[derive(Clone, Copy, Debug)]
struct Counted {
    request: u32,
    slots: u64,
    /// The first node that was not looked at; None: all were.
    next: Option<u32>,
}

/// The slots of those requests that were asked for since the machine changed.
#[derive(Clone, Debug, Default)]
pub struct FreeSlots {
    changes: u64,
    /// By request.
    counted: Vec<Counted>,
    /// The most that neighbours have of each resource, all of which have some of it; empty where it was not asked for.
    on_neighbours: Vec<u64>,
}

impl FreeSlots {
    /// Whether jobs with such values of the queue may fit, as far as their slots tell: false only if none of them does.
    pub fn test<'a>(
        &'a mut self,
        view: View<'a>,
        allocator: &Allocator,
    ) -> impl Fn(&[i64]) -> bool + use<'a> {
        if self.changes != view.state.machine.changes() {
            self.counted.clear();
            self.on_neighbours.clear();
            self.changes = view.state.machine.changes();
        }
        // A job that is passed over may open another where there are limits, and an allocator outside may be asked of each.
        let knows =
            view.state.limited.is_none() && allocator.as_external().is_none() && !view.looks_at_each();
        let is_one_set = view.scenario.node_sets.count() == 1;
        let takes_neighbours = knows && is_one_set && allocator.takes_neighbours();
        let slots = RefCell::new(self);
        move |values| {
            if takes_neighbours && !slots.borrow_mut().neighbours_have(view, values) {
                return false;
            }
            let common = if knows { view.common_request(values) } else { None };
            common.is_none_or(|(request, tasks)| slots.borrow_mut().has(view, request, tasks))
        }
    }

    /// Whether some neighbours have as much of each resource as such jobs need at least.
    fn neighbours_have(&mut self, view: View<'_>, values: &[i64]) -> bool {
        let resources = view.state.machine.resources();
        if self.on_neighbours.is_empty() {
            self.on_neighbours.extend((0..resources).map(|resource| most_on_neighbours(view, resource)));
        }
        let needs = &values[1..=resources];
        needs.iter().zip(&self.on_neighbours).all(|(&need, &most)| u64::try_from(need).unwrap_or(0) <= most)
    }

    fn has(&mut self, view: View<'_>, request: u32, tasks: u64) -> bool {
        let at = self.counted.binary_search_by_key(&request, |known| known.request).unwrap_or_else(|at| {
            self.counted.insert(at, Counted { request, slots: 0, next: Some(0) });
            at
        });
        let known = &mut self.counted[at];
        let (machine, asked) = (&view.state.machine, view.scenario.requests.get(request));
        if let Some(from) = known.next.filter(|_| known.slots < tasks) {
            known.next = None;
            machine.visit_slots(from..machine.nodes(), asked, &mut |node, slots| {
                known.slots += u64::from(slots);
                let is_enough = known.slots >= tasks;
                known.next = is_enough.then_some(node + 1);
                !is_enough
            });
        }
        known.slots >= tasks
    }
}

/// The most that consecutive nodes have free of a resource, each of which has some.
fn most_on_neighbours(view: View<'_>, resource: usize) -> u64 {
    let machine = &view.state.machine;
    let mut amounts = vec![0; machine.resources()];
    amounts[resource] = 1;
    let unit = Request { amounts, ..Request::NOTHING };
    let (mut most, mut sum, mut next) = (0, 0, 0);
    machine.visit_slots(0..machine.nodes(), &unit, &mut |node, units| {
        sum = if node == next { sum + u64::from(units) } else { u64::from(units) };
        next = node + 1;
        most = most.max(sum);
        true
    });
    most
}
