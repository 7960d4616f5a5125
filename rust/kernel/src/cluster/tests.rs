//! Compares the machine with plain sums and scans, on random node sets.
use std::sync::Arc;

use proptest::prelude::*;

use super::{
    Availability, EmptyMachine, Machine, NodeSet, NodeSetId, NodeSets, NodeTasks, Ranked, Ranking, Request,
};

const NODES: u32 = 12;
const RESOURCES: usize = 2;
/// More nodes than two words have bits.
const MANY_NODES: u32 = 140;

/// An event of a machine.
#[derive(Clone, Debug)]
enum Event {
    Take { node: u32, tasks: u32 },
    GiveBack(usize),
    Drain { node: u32, drained: bool },
    ReserveCapacity { node: u32, amounts: [i64; 2] },
}

fn some_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..NODES, 1..4_u32).prop_map(|(node, tasks)| Event::Take { node, tasks }),
        2 => (0..20_usize).prop_map(Event::GiveBack),
        1 => (0..NODES, any::<bool>()).prop_map(|(node, drained)| Event::Drain { node, drained }),
        1 => (0..NODES, 0..3_i64, 0..3_i64).prop_map(|(node, a, b)| Event::ReserveCapacity { node, amounts: [a, b] }),
    ]
}

/// Node sets as one flag per node.
fn some_sets() -> impl Strategy<Value = Vec<Vec<bool>>> {
    prop::collection::vec(prop::collection::vec(any::<bool>(), NODES as usize), 0..4)
}

fn machine_of(resources: usize, capacity: Vec<i64>, flags: &[Vec<bool>]) -> (Machine, Vec<NodeSetId>) {
    let nodes = (capacity.len() / resources) as u32;
    let as_set = |set: &Vec<bool>| {
        NodeSet::new((0..nodes).filter(|&node| set[node as usize]).map(|node| node..node + 1))
    };
    let (sets, mut numbers) = NodeSets::with(nodes, flags.iter().map(as_set).collect());
    numbers.insert(0, NodeSetId::ALL);
    (Machine::new(resources, capacity, Arc::new(sets), true), numbers)
}

fn happen(machine: &mut Machine, events: &[Event], request: &Request) {
    let mut taken = Vec::new();
    for event in events {
        match *event {
            Event::Take { node, tasks } => {
                let tasks = tasks.min(machine.slots(node, request));
                if tasks > 0 {
                    machine.take(request, &[NodeTasks { node, tasks }]);
                    taken.push(NodeTasks { node, tasks });
                }
            }
            Event::GiveBack(at) if !taken.is_empty() => {
                let part = taken.swap_remove(at % taken.len());
                machine.give_back(request, &[part]);
            }
            Event::GiveBack(_) => {}
            Event::Drain { node, drained } => machine.set_drained(node, drained),
            Event::ReserveCapacity { node, amounts } => {
                machine.reserve_capacity(node, &amounts[..machine.resources()]);
            }
        }
    }
}

/// The same events on nodes with indices increased by `places`.
fn moved_by(events: &[Event], places: u32) -> Vec<Event> {
    let mut moved = events.to_vec();
    for event in &mut moved {
        match event {
            Event::Take { node, .. } | Event::Drain { node, .. } | Event::ReserveCapacity { node, .. } => {
                *node += places;
            }
            Event::GiveBack(_) => {}
        }
    }
    moved
}

fn all_by_load(machine: &Machine, request: &Request, busiest_first: bool) -> Vec<u32> {
    all_ranked(machine, request, Ranked { by: Ranking::Load, busiest_first })
}

fn all_ranked(machine: &Machine, request: &Request, order: Ranked) -> Vec<u32> {
    let mut nodes = Vec::new();
    machine.visit_by_load(request, order, &mut |node| {
        nodes.push(node);
        true
    });
    nodes
}

proptest! {
    #[test]
    fn each_set_has_its_totals_and_its_nodes(
        capacity in prop::collection::vec(0..5_i64, NODES as usize * RESOURCES),
        flags in some_sets(),
        events in prop::collection::vec(some_event(), 0..30),
        asked in (1..3_i64, 0..3_i64),
        from in 0..=NODES,
    ) {
        let (mut machine, numbers) = machine_of(RESOURCES, capacity, &flags);
        let request = Request { amounts: vec![asked.0, asked.1], ..Request::NOTHING };
        happen(&mut machine, &events, &request);
        let all_slots: Vec<u32> = (0..NODES).map(|node| machine.slots(node, &request)).collect();
        let everywhere = all_by_load(&machine, &request, true);
        for (at, &nodes) in numbers.iter().enumerate() {
            let is_in = |node: u32| at == 0 || flags[at - 1][node as usize];
            for resource in 0..RESOURCES {
                let free = (0..NODES).filter(|&node| is_in(node)).map(|node| machine.free_of(node)[resource]);
                prop_assert_eq!(machine.total_free_in(nodes)[resource], free.sum::<i64>());
            }
            let own = Request { nodes, partition: nodes, ..request.clone() };
            let slots: Vec<u32> =
                (0..NODES).map(|node| if is_in(node) { all_slots[node as usize] } else { 0 }).collect();
            prop_assert_eq!((0..NODES).map(|node| machine.slots(node, &own)).collect::<Vec<_>>(), slots.clone());
            let next = (from..NODES).find(|&node| slots[node as usize] > 0);
            prop_assert_eq!(machine.next_with_slots(from, &own), next);
            let by_load: Vec<u32> = everywhere.iter().copied().filter(|&node| is_in(node)).collect();
            prop_assert_eq!(all_by_load(&machine, &own, true), by_load);
            let most = slots.iter().sum::<u32>();
            prop_assert_eq!((machine.holds(&own, most.max(1)), machine.holds(&own, most + 1)), (most > 0, false));
            let empty = EmptyMachine(&machine);
            let next = (from..NODES).find(|&node| empty.slots(node, &own) > 0);
            prop_assert_eq!(empty.next_with_slots(from, &own), next);
        }
    }

    #[test]
    fn a_node_offers_all_if_its_whole_capacity_is_available(
        capacity in prop::collection::vec(1..5_i64, NODES as usize * RESOURCES),
        events in prop::collection::vec(some_event(), 0..30),
    ) {
        let (mut machine, _) = machine_of(RESOURCES, capacity, &[]);
        happen(&mut machine, &events, &Request { amounts: vec![1, 0], ..Request::NOTHING });
        let available = machine.available();
        for (node, available) in (0..NODES).zip(available.chunks_exact(RESOURCES)) {
            prop_assert_eq!(machine.offers_all(node), available == machine.capacity_of(node));
        }
    }

    #[test]
    fn nodes_stand_by_the_sum_of_what_is_free(
        capacity in prop::collection::vec(0..5_i64, NODES as usize * RESOURCES),
        flags in some_sets(),
        events in prop::collection::vec(some_event(), 0..30),
        asked in (0..3_i64, 0..3_i64),
    ) {
        let (mut machine, numbers) = machine_of(RESOURCES, capacity, &flags);
        machine.keep_loads(Ranking::Free);
        let one = Request { amounts: vec![asked.0, asked.1], ..Request::NOTHING };
        happen(&mut machine, &events, &one);
        for &nodes in &numbers {
            let request = Request { nodes, partition: nodes, ..one.clone() };
            let has_slots = |&node: &u32| machine.slots(node, &request) > 0;
            let free = |node: u32| machine.free_of(node).iter().sum::<i64>();
            let mut plain: Vec<u32> = (0..NODES).filter(has_slots).collect();
            plain.sort_by_key(|&node| (free(node), node));
            let order = Ranked { by: Ranking::Free, busiest_first: true };
            prop_assert_eq!(&all_ranked(&machine, &request, order), &plain);
            plain.sort_by_key(|&node| (-free(node), node));
            prop_assert_eq!(&all_ranked(&machine, &request, Ranked { busiest_first: false, ..order }), &plain);
        }
    }

    #[test]
    fn equal_nodes_of_one_resource_stand_by_load(
        capacity in 1..5_i64,
        flags in prop::collection::vec(prop::collection::vec(any::<bool>(), MANY_NODES as usize), 0..3),
        events in prop::collection::vec(some_event(), 0..60),
        far in 0..MANY_NODES - NODES,
        asked in 0..4_i64,
        exclusive in any::<bool>(),
    ) {
        let (mut machine, numbers) = machine_of(1, vec![capacity; MANY_NODES as usize], &flags);
        let one = Request { amounts: vec![1], ..Request::NOTHING };
        // The same events near the first node, and across word boundaries.
        happen(&mut machine, &events, &one);
        happen(&mut machine, &moved_by(&events, far), &Request { exclusive, ..one.clone() });
        for &nodes in &numbers {
            let request = Request { amounts: vec![asked], exclusive, nodes, partition: nodes, ..Request::NOTHING };
            let has_slots = |&node: &u32| machine.slots(node, &request) > 0;
            let mut plain: Vec<u32> = (0..MANY_NODES).filter(has_slots).collect();
            plain.sort_by_key(|&node| -machine.free_of(node)[0]);
            prop_assert_eq!(&all_by_load(&machine, &request, false), &plain);
            plain.sort_by_key(|&node| (machine.free_of(node)[0], node));
            prop_assert_eq!(&all_by_load(&machine, &request, true), &plain);
        }
    }
}
