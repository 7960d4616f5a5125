//! Boxes of a torus that are known to be taken, valid until something is released.
//!
//! A box that contains a box which is not free is not free either: a trial with only such boxes does not examine the
//! nodes.
use crate::cluster::Request;

/// Shapes without a free box for a request.
#[derive(Clone, Debug, Default)]
pub struct TakenBoxes {
    /// The machine's count of gains at the time of the records.
    gains: u64,
    /// The request, and its number of tasks on a node.
    of: Option<(Request, u32)>,
    /// Sides of boxes; none contains another.
    shapes: Vec<Vec<u32>>,
    /// Upper bound of the number of free routers.
    most_routers: Option<usize>,
}

impl TakenBoxes {
    /// Drops all records if something was released since.
    pub(super) fn look(&mut self, gains: u64) {
        if self.gains != gains {
            *self = Self { gains, ..Self::default() };
        }
    }

    /// Drops all records if the request differs.
    pub(super) fn ask(&mut self, request: &Request, tasks: u32) {
        if !self.of.as_ref().is_some_and(|(of, on_node)| of == request && *on_node == tasks) {
            *self = Self { gains: self.gains, of: Some((request.clone(), tasks)), ..Self::default() };
        }
    }

    /// Returns whether fewer than `routers` routers are free.
    pub(super) fn leave_less_than(&self, routers: usize) -> bool {
        self.most_routers.is_some_and(|most| most < routers)
    }

    /// Returns whether none of these boxes is free.
    pub(super) fn include(&self, sides: &[u32]) -> bool {
        self.shapes.iter().any(|taken| is_within(taken, sides))
    }

    /// Records the number of free routers.
    pub(super) fn count(&mut self, routers: usize) {
        self.most_routers = Some(routers);
    }

    /// Records that none of these boxes is free.
    pub(super) fn add(&mut self, sides: Vec<u32>) {
        self.shapes.retain(|taken| !is_within(&sides, taken));
        self.shapes.push(sides);
    }
}

fn is_within(inner: &[u32], outer: &[u32]) -> bool {
    inner.iter().zip(outer).all(|(inner, outer)| inner <= outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_boxes_are_taken_too() {
        let mut taken = TakenBoxes::default();
        taken.add(vec![4, 2]);
        taken.add(vec![2, 2]);
        assert!(taken.include(&[2, 3]) && taken.include(&[4, 2]) && !taken.include(&[8, 1]));
        assert_eq!(taken.shapes.len(), 1);
    }
}
