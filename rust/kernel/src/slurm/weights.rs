//! Node weights for one job, valid until the next evaluation (`sched_weight`).
use super::controller_input::Entry;
use super::occupation::Occupation;
use super::setup::Setup;
use crate::index::NodeBits;

/// Set the node weights for this job: one more for nodes that none of its limits counts yet, if the limits count other
/// nodes of the same weight.
pub fn evaluate(
    setup: &Setup,
    occupation: &Occupation,
    entry: &Entry,
    nodes: &NodeBits,
    weights: &mut [u32],
) {
    if !setup.weighs {
        return;
    }
    let counted = counted(setup, occupation, entry);
    let mut lighter: Vec<u32> = Vec::new();
    for node in nodes.iter() {
        let weight = setup.weights[node as usize];
        weights[node as usize] = weight;
        if counted.contains(node) && !lighter.contains(&weight) {
            lighter.push(weight);
        }
    }
    if lighter.is_empty() {
        return;
    }
    for node in nodes.iter().filter(|&node| !counted.contains(node)) {
        let weight = &mut weights[node as usize];
        *weight += u32::from(lighter.contains(weight));
    }
}

/// Return the nodes that limits of the job already count.
fn counted(setup: &Setup, occupation: &Occupation, entry: &Entry) -> NodeBits {
    let mut nodes = NodeBits::none(setup.nodes());
    if !entry.classes.counted.is_empty() {
        let own = &entry.classes.counted;
        let held =
            occupation.held().filter(|held| held.classes.counted.iter().any(|group| own.contains(group)));
        held.for_each(|held| held.nodes.add_to(&mut nodes));
    }
    nodes
}
