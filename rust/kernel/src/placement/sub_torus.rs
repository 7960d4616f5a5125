//! Box-shaped sub-tori of free nodes (S22).
//!
//! O(f log n + s R log v) for f feasible nodes, R routers and s shapes of the smallest sufficient volume v; bytewise
//! operations on rows. No search if all these shapes are known to be taken. The number of shapes is the number of ways
//! to write the volume as a product of one side per dimension.
use std::cmp::Reverse;

use crate::cluster::{Availability, NodeOrder};
use crate::platform::Fabric;

use super::filling::Filling;
use super::taken_boxes::TakenBoxes;

impl<A: Availability> Filling<'_, A> {
    /// Fills the first nodes of the first free box of least surface, of the smallest sufficient volume.
    pub(super) fn sub_torus(&mut self, order: &NodeOrder, fabric: &Fabric, taken: &mut TakenBoxes) {
        // The number of tasks on the largest node of the job's set without other jobs.
        let each = self.want.empty.most_on_one(self.want.request).min(self.left);
        if each == 0 {
            return;
        }
        let (at_router, dimensions) = (fabric.sizes()[0], &fabric.sizes()[1..]);
        let routers = self.left.div_ceil(each).div_ceil(at_router);
        taken.ask(self.want.request, each);
        if taken.leave_less_than(routers as usize) {
            return;
        }
        let mut boxes = smallest_boxes(dimensions, routers);
        boxes.retain(|sides| !taken.include(sides));
        if boxes.is_empty() {
            return;
        }
        let free = self.free_nodes(order, each);
        if (free.len() as u32) < self.left.div_ceil(each) {
            return;
        }
        let mut lacking = vec![at_router; dimensions.iter().product::<u32>() as usize];
        for &node in &free {
            lacking[(fabric.place(node) / at_router) as usize] -= 1;
        }
        let is_free: Vec<bool> = lacking.into_iter().map(|lacks| lacks == 0).collect();
        taken.count(is_free.iter().filter(|free| **free).count());
        if taken.leave_less_than(routers as usize) {
            return;
        }
        boxes.sort_unstable_by_key(|sides| (surface(sides, dimensions), Reverse(sides.clone())));
        for sides in boxes {
            let Some(corner) = first_free(&is_free, &sides, dimensions) else {
                taken.add(sides);
                continue;
            };
            for node in free
                .into_iter()
                .filter(|&node| is_inside(fabric.place(node) / at_router, corner, &sides, dimensions))
            {
                if !self.fill_up_to(node, each) {
                    return;
                }
            }
            return;
        }
    }

    /// The nodes that admit this number of tasks, in the order.
    fn free_nodes(&self, order: &NodeOrder, tasks: u32) -> Vec<u32> {
        let list = self.candidates(order);
        list.into_iter().filter(|each| each.slots >= u64::from(tasks)).map(|each| each.node).collect()
    }
}

/// The boxes of the smallest volume of at least `least` routers, by their sides; empty if the torus is smaller.
fn smallest_boxes(dimensions: &[u32], least: u32) -> Vec<Vec<u32>> {
    let all: u32 = dimensions.iter().product();
    (least..=all)
        .map(|volume| boxes_of(volume, dimensions))
        .find(|boxes| !boxes.is_empty())
        .unwrap_or_default()
}

fn boxes_of(volume: u32, dimensions: &[u32]) -> Vec<Vec<u32>> {
    let Some((&size, others)) = dimensions.split_first() else {
        return if volume == 1 { vec![Vec::new()] } else { Vec::new() };
    };
    let sides = (1..=size.min(volume)).filter(|side| volume.is_multiple_of(*side));
    let whole = sides.flat_map(|side| {
        boxes_of(volume / side, others).into_iter().map(move |rest| [&[side], rest.as_slice()].concat())
    });
    whole.collect()
}

/// Number of cables that leave a box; a side as long as its dimension has none.
fn surface(sides: &[u32], dimensions: &[u32]) -> u32 {
    let volume: u32 = sides.iter().product();
    sides.iter().zip(dimensions).filter(|(side, size)| side < size).map(|(side, _)| 2 * volume / side).sum()
}

/// The first corner, by number, of a box of free routers. Boxes wrap around the ends of the dimensions.
fn first_free(is_free: &[bool], sides: &[u32], dimensions: &[u32]) -> Option<u32> {
    let (mut corners, mut weight) = (is_free.to_vec(), 1);
    for (&side, &size) in sides.iter().zip(dimensions) {
        let period = weight * size as usize;
        let mut covered = 1;
        // A row of this length is free if two shorter, overlapping rows are.
        while covered < side {
            let step = covered.min(side - covered);
            corners = both(&corners, step as usize * weight, period);
            covered += step;
        }
        weight = period;
    }
    corners.into_iter().position(|is_corner| is_corner).map(|corner| corner as u32)
}

/// For each value, its conjunction with the value `behind` places after it, with wrap-around in each period.
fn both(values: &[bool], behind: usize, period: usize) -> Vec<bool> {
    let mut joined = values.to_vec();
    for (joined, values) in joined.chunks_exact_mut(period).zip(values.chunks_exact(period)) {
        let (first, last) = joined.split_at_mut(period - behind);
        let and = |own: &mut [bool], others: &[bool]| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own &= other);
        };
        and(first, &values[behind..]);
        and(last, &values[..behind]);
    }
    joined
}

fn is_inside(router: u32, corner: u32, sides: &[u32], dimensions: &[u32]) -> bool {
    let (mut router, mut corner) = (router, corner);
    sides.iter().zip(dimensions).all(|(&side, &size)| {
        let offset = (router % size + size - corner % size) % size;
        (router, corner) = (router / size, corner / size);
        offset < side
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_of_the_smallest_volume() {
        assert_eq!(smallest_boxes(&[4, 2], 3), [[3, 1]]);
        assert_eq!(smallest_boxes(&[4, 2], 5), [[3, 2]]);
        assert_eq!(smallest_boxes(&[4, 2], 4), [[2, 2], [4, 1]]);
        assert!(smallest_boxes(&[4, 2], 9).is_empty());
        assert_eq!((surface(&[2, 2], &[4, 2]), surface(&[4, 1], &[4, 2])), (4, 8));
    }

    #[test]
    fn boxes_go_round() {
        // A row of four routers with the second taken.
        let is_free = [true, false, true, true];
        assert_eq!(first_free(&is_free, &[3], &[4]), Some(2));
        assert_eq!(first_free(&is_free, &[4], &[4]), None);
        assert!([2, 3, 0].iter().all(|&router| is_inside(router, 2, &[3], &[4])));
        assert!(!is_inside(1, 2, &[3], &[4]));
    }
}
