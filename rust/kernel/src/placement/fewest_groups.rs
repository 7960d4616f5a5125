//! The fewest groups of a network: the lowest switch with enough nodes for a job, and best fit among these (S22).
//!
//! O(f log n + g f l) for f feasible nodes, l levels and g groups of the job.
use crate::cluster::{Availability, NodeOrder};
use crate::platform::Fabric;

use super::filling::Filling;
use super::in_order::Candidate;

impl<A: Availability> Filling<'_, A> {
    /// Fills the groups chosen by best fit, in the order of the nodes.
    pub(super) fn fewest_groups(&mut self, order: &NodeOrder, fabric: &Fabric) {
        let mut list = self.candidates(order);
        list.sort_unstable_by_key(|each| fabric.place(each.node));
        let mut left: Vec<Leaf> = list
            .into_iter()
            .map(|node| Leaf { place: fabric.place(node.node), slots: node.slots, node })
            .collect();
        let mut chosen = Vec::new();
        let mut tasks = u64::from(self.left);
        let spans = spans(fabric.sizes());
        while let Some(group) = best_fit(&left, &spans, tasks) {
            let taken = match group.of_level {
                // One node takes the remaining tasks.
                0 => group,
                level => fullest(&left[group.begin..group.end], spans[level - 1], group.begin, level - 1),
            };
            if taken.slots >= tasks {
                chosen.extend(left[taken.begin..taken.end].iter().map(|leaf| leaf.node));
                break;
            }
            tasks -= taken.slots;
            // Only nodes below the same switch remain.
            chosen.extend(left[taken.begin..taken.end].iter().map(|leaf| leaf.node));
            left = [&left[group.begin..taken.begin], &left[taken.end..group.end]].concat();
        }
        chosen.sort_unstable_by_key(|each: &Candidate| each.place);
        for each in chosen {
            self.fill(each.node);
        }
    }
}

/// A feasible node by its position in the network.
#[derive(Clone, Copy)]
struct Leaf {
    place: u32,
    slots: u64,
    node: Candidate,
}

/// Nodes below one switch.
#[derive(Clone, Copy)]
struct Group {
    of_level: usize,
    begin: usize,
    end: usize,
    slots: u64,
}

/// Number of positions of a group of each level: one node, then all nodes below a switch.
fn spans(sizes: &[u32]) -> Vec<u32> {
    let mut span = 1;
    let mut spans = vec![span];
    for &size in sizes {
        span *= size;
        spans.push(span);
    }
    spans
}

fn groups(leaves: &[Leaf], span: u32, from: usize, of_level: usize) -> impl Iterator<Item = Group> {
    let mut begin = from;
    leaves.chunk_by(move |a, b| a.place / span == b.place / span).map(move |below| {
        let group = Group {
            of_level,
            begin,
            end: begin + below.len(),
            slots: below.iter().map(|leaf| leaf.slots).sum(),
        };
        begin = group.end;
        group
    })
}

/// The group of the lowest level with enough slots; ties by fewest slots, then by position.
fn best_fit(leaves: &[Leaf], spans: &[u32], tasks: u64) -> Option<Group> {
    let fitting = |level: usize| {
        groups(leaves, spans[level], 0, level)
            .filter(|group| group.slots >= tasks)
            .min_by_key(|group| group.slots)
    };
    (0..spans.len()).find_map(fitting)
}

/// The group with the most slots; ties by position.
fn fullest(leaves: &[Leaf], span: u32, from: usize, of_level: usize) -> Group {
    let none = Group { of_level, begin: from, end: from, slots: 0 };
    groups(leaves, span, from, of_level)
        .fold(none, |most, group| if group.slots > most.slots { group } else { most })
}
