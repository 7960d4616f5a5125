//! Free capacity at EASY's shadow time if totals do not decide: node by node, or by windows of whole nodes.
use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, PlacementRequest, Request};
use crate::placement::Allocator;
use crate::state::View;

use super::shadow_capacity::ShadowCapacity;
use super::shadow_windows::ShadowWindows;

/// The two representations; the memory of both is kept for reuse.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowAvailability {
    capacity: ShadowCapacity,
    windows: ShadowWindows,
    by_windows: bool,
}

impl ShadowAvailability {
    /// End running jobs until the head fits. Return this instant; totals prove that it is not before `earliest`.
    pub fn open(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        earliest: f64,
    ) -> f64 {
        let time = self.windows.open(view, allocator, head);
        self.by_windows = time.is_some();
        time.unwrap_or_else(|| self.capacity.open(view, allocator, head, earliest))
    }

    /// Record a job that starts on these nodes now and ends by the shadow time.
    pub fn run_before_shadow(&mut self, machine: &Machine, request: &Request, placement: &[NodeTasks]) {
        if !self.by_windows {
            // The machine's state will lack these resources, but they are free again by then.
            self.capacity.change(machine, request, placement, 1);
        }
    }

    /// Return whether the head still fits if this placement is occupied beyond the shadow time. If so, record it.
    pub fn take_if_head_fits(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        request: &Request,
        placement: &[NodeTasks],
    ) -> bool {
        if self.by_windows {
            self.windows.take_if_head_fits(head, request, placement)
        } else {
            self.capacity.take_if_head_fits(view, allocator, head, request, placement)
        }
    }
}
