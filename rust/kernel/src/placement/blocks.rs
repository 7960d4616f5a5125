//! The blocks into which an order is cut, and their heads (S22).
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The blocks of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many.
    pub count: u32,
    /// Whether they are those of the machine; else the nodes that are free are cut anew for every job.
    pub are_fixed: bool,
}

impl Blocks {
    /// Which nodes of a list are the heads of the blocks, `count` of them in all; by their numbers in the list, ascending.
    /// `before` says how many of the list are before a place of the order, which has `nodes` places. O(blocks).
    pub(super) fn heads(
        self,
        nodes: usize,
        list: usize,
        count: usize,
        before: impl Fn(usize) -> usize,
    ) -> Vec<Range<usize>> {
        if self.are_fixed {
            self.heads_of_fixed(nodes, count, before)
        } else {
            self.heads_of_list(list, count)
        }
    }

    /// Cuts list and number into as many parts: of each part of the list the head.
    fn heads_of_list(self, list: usize, count: usize) -> Vec<Range<usize>> {
        let blocks = self.count as usize;
        let mut begin = 0;
        // Those behind have no head.
        let heads = (0..blocks.min(count)).map(|block| {
            let head = begin..begin + part(count, blocks, block);
            begin += part(list, blocks, block);
            head
        });
        heads.collect()
    }

    /// The same with parts of all nodes. What a part lacks are the first nodes of the list that are left.
    fn heads_of_fixed(
        self,
        nodes: usize,
        count: usize,
        before: impl Fn(usize) -> usize,
    ) -> Vec<Range<usize>> {
        let blocks = self.count as usize;
        let mut end = 0;
        let blocks_of_list = (0..blocks.min(nodes)).map(|block| {
            let begin = end;
            end += part(nodes, blocks, block);
            (before(begin)..before(end), part(count, blocks, block))
        });
        let parts: Vec<(Range<usize>, usize)> = blocks_of_list.collect();
        let mut missing = count - parts.iter().map(|(block, wanted)| block.len().min(*wanted)).sum::<usize>();
        let heads = parts.into_iter().map(|(block, wanted)| {
            let own = block.len().min(wanted);
            let more = (block.len() - own).min(missing);
            missing -= more;
            block.start..block.start + own + more
        });
        heads.collect()
    }
}

/// The size of a part of so many things that are cut into `parts`: the first ones are one larger.
fn part(things: usize, parts: usize, at: usize) -> usize {
    things / parts + usize::from(at < things % parts)
}
