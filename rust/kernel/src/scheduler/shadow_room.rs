//! What will be free at EASY's shadow time where totals do not decide: node by node, or by windows of whole nodes.
use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, PlacementRequest, Request};
use crate::placement::Allocator;
use crate::state::View;

use super::shadow_capacity::ShadowCapacity;
use super::shadow_windows::ShadowWindows;

/// The two ways to know it; the memory of both is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowRoom {
    capacity: ShadowCapacity,
    windows: ShadowWindows,
    by_windows: bool,
}

impl ShadowRoom {
    /// Lets running jobs end until the head fits: that instant, which by the totals cannot be before `earliest`.
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

    /// A job that is about to start here will be over at the shadow time.
    pub fn come_and_go(&mut self, machine: &Machine, request: &Request, placement: &[NodeTasks]) {
        if !self.by_windows {
            // What the machine is about to lack is back by then.
            self.capacity.change(machine, request, placement, 1);
        }
    }

    /// Whether the head still fits if this placement stays taken beyond the shadow time; if so, it does.
    pub fn spare(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
        request: &Request,
        placement: &[NodeTasks],
    ) -> bool {
        if self.by_windows {
            self.windows.spare(head, request, placement)
        } else {
            self.capacity.spare(view, allocator, head, request, placement)
        }
    }
}
