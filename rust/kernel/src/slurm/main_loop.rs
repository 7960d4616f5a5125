//! The main loop: `schedule()`.
use super::node_bits::NodeBits;
use super::offer::Offer;
use super::select::Select;
use super::situation::{Situation, Verdict, take};

/// Starts jobs in order. The first of a partition that does not fit closes it for this call, and takes its nodes away from
/// the partitions behind.
#[must_use]
pub fn main_loop(situation: &Situation, select: Select) -> Vec<Verdict> {
    let mut left = situation.left();
    let mut away = situation.completing_nodes();
    let mut closed = vec![false; situation.partitions.len()];
    let mut started: Vec<u32> = Vec::new();
    let mut verdicts = Vec::with_capacity(situation.queue.len());
    for entry in &situation.queue {
        if closed[entry.partition] || started.contains(&entry.job) {
            verdicts.push(Verdict::NotTried);
            continue;
        }
        if !entry.is_open {
            verdicts.push(Verdict::Waits);
            continue;
        }
        let partition = &situation.partitions[entry.partition];
        let usable = usable(situation, &partition.nodes, &away);
        let offer = Offer {
            usable: &usable,
            machine: &situation.machine,
            left: &left,
            most_nodes: partition.most_nodes,
        };
        verdicts.push(if let Some(chosen) = select.choose(entry, offer) {
            take(&mut left, &chosen);
            started.push(entry.job);
            Verdict::Started(chosen)
        } else {
            closed[entry.partition] = true;
            away.add(&partition.nodes);
            Verdict::Waits
        });
    }
    verdicts
}

fn usable(situation: &Situation, nodes: &NodeBits, away: &NodeBits) -> NodeBits {
    let mut usable = nodes.clone();
    usable.keep(&situation.available);
    usable.remove(away);
    usable
}
