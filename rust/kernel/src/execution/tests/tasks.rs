//! The duration of each kind of task.
use super::*;

#[test]
fn computing_takes_the_operations_of_the_busiest_rank_at_the_speed_of_its_node() {
    takes(&cpu(Some((1e12, Pattern::Uniform)), None, false), 3, 100.0);
    takes(&cpu(Some((1e12, Pattern::AllRanks)), None, false), 4, 25.0);
    takes(&cpu(Some((1e12, Pattern::RootOnly)), None, false), 4, 100.0);
    takes(&cpu(Some((1e12, Pattern::EvenRanks)), None, false), 5, 100.0 / 3.0);
    takes(&cpu(Some((1e12, Pattern::OddRanks)), None, false), 5, 50.0);
    takes(&cpu(Some((0.0, Pattern::Vector(vec![1e11, 2e11, 3e11, 0.0]))), None, false), 4, 30.0);
}

#[test]
fn traffic_takes_the_bytes_of_the_busiest_cable_after_the_longest_latency() {
    let bytes = |pattern| cpu(None, Some((1e12, pattern)), false);
    takes(&bytes(Communication::AllToAll), 1, 0.0);
    takes(&bytes(Communication::AllToAll), 4, 25.0 + 2e-6);
    takes(&bytes(Communication::Ring), 4, 25.0 + 2e-6);
    takes(&bytes(Communication::RingClockwise), 5, 20.0 + 2e-6);
    takes(&bytes(Communication::RingCounterClockwise), 5, 20.0 + 2e-6);
    takes(&bytes(Communication::Gather), 4, 75.0 + 2e-6);
    takes(&bytes(Communication::Scatter), 4, 75.0 + 2e-6);
    takes(&bytes(Communication::MasterWorker), 4, 200.0 + 2e-6);
    let matrix = vec![0.0, 1e10, 2e10, 3e10, 0.0, 4e10, 5e10, 6e10, 0.0];
    takes(&bytes(Communication::Matrix(matrix)), 3, 11.0 + 2e-6);
}

#[test]
fn computing_and_traffic_overlap() {
    let both =
        |flops, bytes| cpu(Some((flops, Pattern::Uniform)), Some((bytes, Communication::AllToAll)), false);
    takes(&both(1e11, 4e11), 4, 10.0 + 2e-6);
    takes(&both(3e11, 4e11), 4, 30.0);
}

#[test]
fn coupled_they_end_together_and_latency_comes_first() {
    let both =
        |flops, bytes| cpu(Some((flops, Pattern::Uniform)), Some((bytes, Communication::AllToAll)), true);
    takes(&both(1e11, 4e11), 4, 10.0 + 2e-6);
    takes(&both(3e11, 4e11), 4, 30.0 + 2e-6);
    takes(&both(3e11, 4e11), 1, 30.0);
}

#[test]
fn traffic_starts_when_the_last_rank_is_there() {
    let tasks = vec![busy(4.0, Pattern::RootOnly), cpu(None, Some((4e10, Communication::AllToAll)), false)];
    lasts(&rigid(vec![phase(1.0, tasks)]), 4, 5.0 + 2e-6);
}

#[test]
fn ranks_use_the_file_system_each_for_itself_and_share_it() {
    use Direction::{Read, Write};
    takes(&file(Read, 1e11, Pattern::Uniform), 1, 10.0 + 6e-6);
    takes(&file(Read, 1e11, Pattern::Uniform), 8, 20.0 + 6e-6);
    takes(&file(Write, 1e11, Pattern::AllRanks), 4, 5.0 + 6e-6);
    takes(&file(Write, 1e11, Pattern::RootOnly), 4, 10.0 + 6e-6);
    takes(&file(Write, 1e11, Pattern::EvenRanks), 3, 5.0 + 6e-6);
    takes(&file(Write, 0.0, Pattern::Uniform), 3, 0.0);
}

#[test]
fn a_transfer_is_spread_over_its_targets_and_its_latency_bounds_it() {
    let platform = |latency: f64| {
        let hosts = (0..3).map(|index| Host { name: format!("h{index}"), ..Host::default() });
        let mut hosts: Vec<Host> = hosts.collect();
        hosts[0].storage_targets = vec![1, 2];
        let links = vec![link("a".into(), 1e9, latency), link("b".into(), 2e9, 0.0)];
        Arc::new(Platform::of_routes(hosts, links, HashMap::from([((0, 1), vec![0]), ((0, 2), vec![1])])))
    };
    let job = rigid(vec![phase(1.0, vec![file(Direction::Write, 8e9, Pattern::Uniform)])]);
    for network in networks() {
        close(alone_on(&platform(0.0), network, &job, 1, 0), 4.0);
        let window = if network == max_min() { 4.0 } else { 4e9 * 2.0 * 0.5 / 4_194_304.0 };
        close(alone_on(&platform(0.5), network, &job, 1, 0), 0.5 + window);
    }
}

#[test]
fn idling_uses_nothing_and_busy_waiting_shares_the_cpu() {
    takes(&idle(7.0, Pattern::Uniform), 3, 7.0);
    takes(&idle(6.0, Pattern::AllRanks), 3, 2.0);
    takes(&busy(7.0, Pattern::Uniform), 3, 7.0);
    for (task, seconds) in [(idle(5.0, Pattern::Uniform), 5.0), (busy(5.0, Pattern::Uniform), 10.0)] {
        let job = rigid(vec![phase(1.0, vec![task])]);
        let mut execution = Execution::new(crossbar(|_| {}), max_min());
        execution.start_at(0.0, 0, &job, &[0, 1], 0).expect("it starts");
        execution.start_at(0.0, 1, &job, &[1, 2], 0).expect("it starts, on a host that another has too");
        let seen = run(&mut execution);
        close(seen[0].0, seconds);
        close(seen[1].0, seconds);
    }
}

#[test]
fn ranks_on_one_host_exchange_over_its_loopback() {
    let network = Network { loopback_bandwidth: 2e9, loopback_latency: 0.25, ..max_min() };
    let job = rigid(vec![phase(1.0, vec![cpu(None, Some((8e9, Communication::AllToAll)), false)])]);
    let mut execution = Execution::new(crossbar(|_| {}), network);
    execution.start_at(0.0, 0, &job, &[0, 0], 0).expect("it starts");
    close(run(&mut execution)[0].0, 0.25 + 4e9 / 2e9);
}

#[test]
fn the_factors_of_a_model_slow_what_ranks_send() {
    let network = Network { bandwidth_factor: 0.5, latency_factor: 3.0, ..max_min() };
    let platform = crossbar(|_| {});
    let job = |pattern| rigid(vec![phase(1.0, vec![cpu(None, Some((2e10, pattern)), false)])]);
    // One message is a flow; two messages each have a link.
    close(alone_on(&platform, network, &job(Communication::Scatter), 2, 0), 6e-6 + 1e10 / 0.5 / 1e10);
    close(alone_on(&platform, network, &job(Communication::Ring), 2, 0), 6e-6 + 1e10 / 0.5 / 1e10);
    let acknowledged = Network { cross_traffic: true, ..network };
    close(alone_on(&platform, acknowledged, &job(Communication::Ring), 2, 0), 6e-6 + 1.05 * 2e10 / 1e10);
}
