//! Mapping of ranks to places such that their messages cross few links: greedily, then by swaps (S22).
//!
//! For n ranks on m nodes and e pairs of ranks with messages: O(e m) initially, O(n²) for each of at most 20 rounds of
//! swaps, and O(m) for each swap and neighbour of a swapped rank; 16 bytes of memory for each pair of rank and node.
use super::message_matrix::MessageMatrix;

const ROUNDS: usize = 20;
/// A swap must gain more than the rounding error of the sums.
const LEAST_GAIN: f64 = 1e-9;

/// Returns the node of each rank, given the node of each place. The hop-bytes are never more than with rank i at place
/// i.
#[must_use]
pub fn mapped(matrix: &MessageMatrix, nodes: &[u32], hops: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    let (distinct, places) = numbered(nodes);
    let both = matrix.both_ways();
    let count = distinct.len();
    let mut far = Vec::with_capacity(count * count);
    for &one in &distinct {
        far.extend(distinct.iter().map(|&other| f64::from(hops(one, other) + hops(other, one))));
    }
    let as_given = Arrangement::of(&both, &far, count, places.clone());
    let greedy = Arrangement::greedy(&both, &far, count, &places);
    let mut best = if greedy.cost() < as_given.cost() { greedy } else { as_given };
    best.refine();
    let found: Vec<u32> = best.at.iter().map(|&at| distinct[at as usize]).collect();
    // If routes are asymmetric, the sum of both directions may decrease while the sum of one does not.
    let before = matrix.hop_bytes(nodes, &hops, f64::INFINITY);
    if matrix.hop_bytes(&found, &hops, f64::INFINITY) > before { nodes.to_vec() } else { found }
}

/// The distinct nodes in order of occurrence, and the index of each place's node among them.
fn numbered(nodes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut known = std::collections::HashMap::new();
    let mut distinct = Vec::new();
    let numbers = nodes.iter().map(|&node| {
        *known.entry(node).or_insert_with(|| {
            distinct.push(node);
            distinct.len() as u32 - 1
        })
    });
    let numbers = numbers.collect();
    (distinct, numbers)
}

/// An assignment of ranks to nodes, with the cost of each rank on each node.
struct Arrangement<'a> {
    /// Bytes in both directions.
    both: &'a MessageMatrix,
    /// Round-trip hops, and the number of nodes.
    far: &'a [f64],
    count: usize,
    /// The node of each rank.
    at: Vec<u32>,
    /// Hops × bytes of each rank on each node, with the ranks assigned so far.
    costs: Vec<f64>,
}

impl<'a> Arrangement<'a> {
    fn empty(both: &'a MessageMatrix, far: &'a [f64], count: usize) -> Self {
        let ranks = both.ranks() as usize;
        Self { both, far, count, at: vec![u32::MAX; ranks], costs: vec![0.0; ranks * count] }
    }

    /// Creates the assignment of the ranks to these nodes.
    fn of(both: &'a MessageMatrix, far: &'a [f64], count: usize, at: Vec<u32>) -> Self {
        let mut made = Self::empty(both, far, count);
        for (rank, node) in at.into_iter().enumerate() {
            made.put(rank, node);
        }
        made
    }

    /// Assigns the ranks one by one: first those that exchange most with the ranks assigned so far.
    fn greedy(both: &'a MessageMatrix, far: &'a [f64], count: usize, places: &[u32]) -> Self {
        let mut made = Self::empty(both, far, count);
        let ranks = places.len();
        let mut free = vec![0_u32; count];
        for &node in places {
            free[node as usize] += 1;
        }
        let middle = made.middle(&free);
        let total = |rank: usize| both.row(rank as u32).iter().map(|&(_, bytes)| bytes).sum::<f64>();
        let mut attached: Vec<f64> = (0..ranks).map(total).collect();
        for turn in 0..ranks {
            let Some(rank) = first_greatest(&attached) else { break };
            let cost =
                |node: &usize| if turn == 0 { middle[*node] } else { made.costs[rank * count + *node] };
            let open = (0..count).filter(|&node| free[node] > 0);
            let Some(node) = open.min_by(|one, other| cost(one).total_cmp(&cost(other))) else { break };
            free[node] -= 1;
            made.put(rank, node as u32);
            if turn == 0 {
                attached.fill(0.0);
            }
            for &(other, bytes) in both.row(rank as u32) {
                attached[other as usize] += bytes;
            }
            attached[rank] = f64::NEG_INFINITY;
        }
        made
    }

    /// The sum of the hops of each node to all places.
    fn middle(&self, places: &[u32]) -> Vec<f64> {
        let row = |node: usize| &self.far[node * self.count..][..self.count];
        let sum = |node| row(node).iter().zip(places).map(|(far, &count)| far * f64::from(count)).sum();
        (0..self.count).map(sum).collect()
    }

    fn put(&mut self, rank: usize, node: u32) {
        self.at[rank] = node;
        for &(other, bytes) in self.both.row(rank as u32) {
            let far = &self.far[node as usize * self.count..][..self.count];
            let costs = &mut self.costs[other as usize * self.count..][..self.count];
            costs.iter_mut().zip(far).for_each(|(cost, far)| *cost += bytes * far);
        }
    }

    fn cost_at(&self, rank: usize, node: u32) -> f64 {
        self.costs[rank * self.count + node as usize]
    }

    fn cost(&self) -> f64 {
        self.at.iter().enumerate().map(|(rank, &node)| self.cost_at(rank, node)).sum()
    }

    /// Swaps ranks while that gains something.
    fn refine(&mut self) {
        let least = LEAST_GAIN * self.cost();
        let mut gains = vec![0.0; self.at.len()];
        for _ in 0..ROUNDS {
            let mut swapped = false;
            for rank in 0..self.at.len() {
                self.find_gains(rank, &mut gains);
                if let Some(other) = first_greatest(&gains)
                    && gains[other] > least
                {
                    self.swap(rank, other);
                    swapped = true;
                }
            }
            if !swapped {
                return;
            }
        }
    }

    /// The gain of swapping a rank with each other rank.
    fn find_gains(&self, rank: usize, gains: &mut [f64]) {
        let here = self.at[rank];
        let own = self.cost_at(rank, here);
        for (other, gain) in gains.iter_mut().enumerate() {
            let there = self.at[other];
            *gain = own - self.cost_at(rank, there) + self.cost_at(other, there) - self.cost_at(other, here);
        }
        // The distance between the two swapped ranks does not change.
        for &(other, bytes) in self.both.row(rank as u32) {
            let there = self.at[other as usize] as usize;
            gains[other as usize] -= 2.0 * bytes * self.far[here as usize * self.count + there];
        }
    }

    fn swap(&mut self, rank: usize, other: usize) {
        let (here, there) = (self.at[rank], self.at[other]);
        self.move_costs(rank, here, there);
        self.move_costs(other, there, here);
        self.at.swap(rank, other);
    }

    /// Moves the contribution of a rank to the costs of others from one node to another.
    fn move_costs(&mut self, rank: usize, from: u32, to: u32) {
        let row = |node: u32| &self.far[node as usize * self.count..][..self.count];
        for &(other, bytes) in self.both.row(rank as u32) {
            let costs = &mut self.costs[other as usize * self.count..][..self.count];
            for ((cost, before), after) in costs.iter_mut().zip(row(from)).zip(row(to)) {
                *cost += bytes * (after - before);
            }
        }
    }
}

/// The index of the greatest value; the first of equals.
fn first_greatest(values: &[f64]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (at, &value) in values.iter().enumerate() {
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((at, value));
        }
    }
    best.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(one: u32, other: u32) -> u32 {
        let apart = one.abs_diff(other);
        apart.min(8 - apart)
    }

    #[test]
    fn a_shuffled_ring_is_found_again() {
        let ring = MessageMatrix::new(8, (0..8).map(|rank| (rank, (rank + 1) % 8, 1.0)).collect());
        let found = mapped(&ring, &[0, 3, 6, 1, 4, 7, 2, 5], around);
        assert_eq!(ring.hop_bytes(&found, around, f64::INFINITY).to_bits(), 8_f64.to_bits());
    }

    #[test]
    fn pairs_share_nodes() {
        let pairs = MessageMatrix::new(4, vec![(0, 2, 1.0), (1, 3, 1.0)]);
        let found = mapped(&pairs, &[5, 5, 7, 7], around);
        assert!(found[0] == found[2] && found[1] == found[3]);
    }
}
