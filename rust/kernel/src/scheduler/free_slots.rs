//! How many slots requests have on the machine now, counted as far as was asked.
//!
//! Where several resources matter, totals admit jobs that no node has room for. Jobs that share a request are then passed over
//! together: O(log n) for each node with a slot once the machine has changed, O(log r) after that for r requests.
use std::cell::RefCell;

use crate::cluster::Availability;
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
            self.changes = view.state.machine.changes();
        }
        // A job that is passed over may open another where there are limits, and an allocator outside may be asked of each.
        let knows =
            view.state.limited.is_none() && allocator.as_external().is_none() && !view.looks_at_each();
        let slots = RefCell::new(self);
        move |values| {
            let common = if knows { view.common_request(values) } else { None };
            common.is_none_or(|(request, tasks)| slots.borrow_mut().has(view, request, tasks))
        }
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
