//! The blocks of an order of the nodes, and their heads (S22).
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The blocks of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// Number of blocks.
    pub count: u32,
    /// True if blocks are fixed on the machine; otherwise the free nodes are split for every job.
    pub are_fixed: bool,
}

impl Blocks {
    /// Returns the heads of the blocks, with `count` nodes in total, as ascending index ranges of a list of nodes.
    /// `before` returns the number of list entries before a place of the order, which has `nodes` places. O(blocks).
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

    /// Splits list and count into the same number of parts; returns the head of each part of the list.
    fn heads_of_list(self, list: usize, count: usize) -> Vec<Range<usize>> {
        let blocks = self.count as usize;
        let mut begin = 0;
        // Blocks after the first `count` have no head.
        let heads = (0..blocks.min(count)).map(|block| {
            let head = begin..begin + part(count, blocks, block);
            begin += part(list, blocks, block);
            head
        });
        heads.collect()
    }

    /// Like `heads_of_list`, with parts of all nodes. If a part has too few entries, the first remaining entries of the
    /// list replace the missing ones.
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

/// The size of a part if `things` are split into `parts`: the first parts are larger by one.
fn part(things: usize, parts: usize, at: usize) -> usize {
    things / parts + usize::from(at < things % parts)
}
