//! GPUs and burst buffers.
use super::*;
use crate::time::{FineTime, IntervalClock};

/// Asserts the duration of one task with this number of GPUs per node.
fn takes_with(gpus: u32, task: &Task, nodes: u32, seconds: f64) {
    let job = rigid(vec![phase(1.0, vec![task.clone()])]);
    for network in networks() {
        close(alone_on(&crossbar(|_| {}), network, &job, nodes, gpus), seconds);
    }
}

#[test]
fn operations_are_split_over_the_gpus_of_a_node() {
    let flops = |pattern| gpu(Some((1e14, pattern)), None);
    takes_with(1, &flops(Pattern::AllRanks), 1, 100.0);
    takes_with(3, &flops(Pattern::AllRanks), 2, 50.0 / 3.0);
    takes_with(4, &flops(Pattern::Uniform), 3, 25.0);
    takes_with(4, &flops(Pattern::RootOnly), 3, 25.0);
}

#[test]
fn gpus_exchange_inside_and_between_nodes_at_once() {
    let bytes = |pattern| gpu(None, Some((1e12, pattern)));
    // One GPU per node: the same as between the ranks themselves.
    takes_with(1, &bytes(Communication::AllToAll), 4, 25.0 + 2e-6);
    takes_with(1, &bytes(Communication::Gather), 4, 75.0 + 2e-6);
    // One node: each of three pairs exchanges 2 · 1e12 / 6 bytes; alone, or along the ring of three.
    takes_with(3, &bytes(Communication::AllToAll), 1, 20.0 / 3.0);
    takes_with(3, &bytes(Communication::Ring), 1, 20.0 / 3.0);
    // Two nodes of three: 9 pairs of GPUs across, 1e12 / 30 bytes each way.
    takes_with(3, &bytes(Communication::AllToAll), 2, 30.0 + 2e-6);
    // Computing overlaps with the entire transfer.
    let both = |flops| gpu(Some((flops, Pattern::AllRanks)), Some((1e12, Communication::AllToAll)));
    takes_with(3, &both(6e13), 2, 30.0 + 2e-6);
    takes_with(3, &both(6e14), 2, 100.0);
}

#[test]
fn a_gpu_serves_one_after_the_other_and_free_ones_first() {
    let job = rigid(vec![phase(1.0, vec![gpu(Some((4e12, Pattern::Uniform)), None)])]);
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    for (number, gpus) in [(1, 2), (2, 2), (3, 1)] {
        execution.start_at(0.0, number, &job, &[0], gpus).expect("it starts");
        assert_eq!(execution.advance_to(0.0), None);
    }
    assert!(execution.busy_gpus(FineTime::at(0.0), 0).eq([true; 4]));
    assert_eq!(run(&mut execution), [(2.0, 1, done(2.0)), (2.0, 2, done(2.0)), (6.0, 3, done(6.0))]);
    assert!(execution.busy_gpus(FineTime::at(2.0), 0).eq([true, false, false, false]));
}

#[test]
fn a_kernel_ends_even_if_its_job_is_killed() {
    let job = rigid(vec![phase(1.0, vec![gpu(Some((4e12, Pattern::Uniform)), None)])]);
    let mut execution = Execution::new(crossbar(|_| {}), max_min());
    execution.start_at(0.0, 1, &job, &[0], 4).expect("it starts");
    assert_eq!(execution.advance_to(0.0), None);
    execution.stop_at(0.5, 1);
    assert!(execution.next().is_infinite());
    execution.start_at(0.5, 2, &job, &[0], 4).expect("it starts");
    assert_eq!(run(&mut execution), [(2.0, 2, done(1.5))]);
}

#[test]
fn a_burst_buffer_in_the_node_is_a_disk_with_two_rates() {
    use Direction::{Read, Write};
    takes(&buffer(Write, 1e10, Pattern::Uniform), 4, 10.0);
    takes(&buffer(Read, 1e10, Pattern::Uniform), 4, 5.0);
    takes(&buffer(Read, 1e10, Pattern::AllRanks), 5, 1.0);
    let write = asynchronously(buffer(Write, 1e10, Pattern::Uniform));
    lasts(&rigid(vec![phase(2.0, vec![write.clone(), busy(3.0, Pattern::Uniform)])]), 4, 20.0);
    // Both together are no faster than the faster of the two alone: 1 GB/s each.
    lasts(&rigid(vec![phase(1.0, vec![write, buffer(Read, 1e10, Pattern::Uniform)])]), 4, 10.0);
}

#[test]
fn striped_burst_buffers_use_all_disks_the_network_and_the_cpus() {
    let striped = |flops_per_byte: f64| {
        crossbar(move |hosts| hosts.iter_mut().for_each(|host| host.striping = Some(flops_per_byte)))
    };
    let job = |pattern| rigid(vec![phase(1.0, vec![buffer(Direction::Write, 1e10, pattern)])]);
    for network in networks() {
        // Rank 0's data is on all disks, and so is the data of all ranks: each disk has its share of everything.
        close(alone_on(&striped(2.0), network, &job(Pattern::RootOnly), 4, 0), 2.5);
        close(alone_on(&striped(2.0), network, &job(Pattern::Uniform), 4, 0), 10.0);
        // At 20 operations per byte, the CPUs have 2e11 operations in total.
        close(alone_on(&striped(20.0), network, &job(Pattern::Uniform), 4, 0), 20.0 + 2e-6);
    }
}

#[test]
fn burst_buffers_at_the_network_serve_nodes_without_one() {
    let platform = crossbar(|hosts| {
        for host in hosts.iter_mut() {
            host.disk = None;
        }
        hosts[STORE as usize].role = Role::BurstBuffer;
    });
    let job = rigid(vec![phase(1.0, vec![buffer(Direction::Write, 1e11, Pattern::AllRanks)])]);
    for network in networks() {
        close(alone_on(&platform, network, &job, 4, 0), 5.0 + 6e-6);
    }
}

/// A platform whose disks read 3 bytes per second and write 2.
fn slow_disks(whole_bytes: bool) -> Arc<Platform> {
    let disk = Disk { read: 3.0, write: 2.0, whole_bytes, capacity: f64::INFINITY };
    crossbar(|hosts| hosts.iter_mut().for_each(|host| host.disk = Some(disk)))
}

/// The end of a job on node 0 that reads 10 bytes while another job on node 1 sleeps.
fn reads_while_another_sleeps(platform: &Arc<Platform>, sleep: f64, looks: Option<IntervalClock>) -> f64 {
    let mut execution = Execution::new(Arc::clone(platform), max_min());
    if let Some(looks) = looks {
        execution.expect_looks(looks);
    }
    let reads = rigid(vec![phase(1.0, vec![buffer(Direction::Read, 10.0, Pattern::Uniform)])]);
    let sleeps = rigid(vec![phase(1.0, vec![idle(sleep, Pattern::Uniform)])]);
    execution.start_at(0.0, 0, &reads, &[0], 0).expect("it starts");
    execution.start_at(0.0, 1, &sleeps, &[1], 0).expect("it starts");
    let seen = run(&mut execution);
    seen.into_iter().find(|entry| entry.1 == 0).expect("it ends").0
}

#[test]
fn disks_that_progress_in_whole_bytes_round_at_every_event() {
    let reads = |whole, sleep| reads_while_another_sleeps(&slow_disks(whole), sleep, None);
    close(reads(false, 0.7), 10.0 / 3.0);
    // 2.1 bytes count as 2, so 8 remain; 2.5 as 2, and 4.5 as 4: half to even.
    close(reads(true, 0.7), 0.7 + 8.0 / 3.0);
    close(reads(true, 2.5 / 3.0), 2.5 / 3.0 + 8.0 / 3.0);
    close(reads(true, 1.5), 1.5 + 6.0 / 3.0);
    // 9.6 bytes count as 10: the operation ends at the event.
    close(reads(true, 3.2), 3.2);
    // 0.3 bytes count as none.
    close(reads(true, 0.1), 0.1 + 10.0 / 3.0);
}

#[test]
fn looks_and_kernels_are_events_for_such_disks() {
    let looks = Some(IntervalClock::from_first_submission(None, 0.8, 0.0));
    // 2.4 bytes count as 2 at each of four looks; then the last two bytes follow.
    close(reads_while_another_sleeps(&slow_disks(true), 9.0, looks), 3.2 + 2.0 / 3.0);
    close(reads_while_another_sleeps(&slow_disks(false), 9.0, looks), 10.0 / 3.0);
    // A job uses two of the GPUs for 0.8 s. Another uses all four for 0.2 s each, two of them at once, and waits until
    // 1 s; the end of the first two kernels is an event that no rank waits for.
    let mut execution = Execution::new(slow_disks(true), max_min());
    let reads = rigid(vec![phase(1.0, vec![buffer(Direction::Read, 10.0, Pattern::Uniform)])]);
    let kernels = rigid(vec![phase(1.0, vec![gpu(Some((8e11, Pattern::Uniform)), None)])]);
    execution.start_at(0.0, 0, &reads, &[0], 0).expect("it starts");
    execution.start_at(0.0, 1, &kernels, &[1, 1], 1).expect("it starts");
    execution.start_at(0.0, 2, &kernels, &[1], 4).expect("it starts");
    let seen = run(&mut execution);
    // By 0.2, 0.8 and 1 s there are 0.6, 1.8 and 0.6 bytes more, which count as 1, 2 and 1.
    close(seen.into_iter().find(|entry| entry.1 == 0).expect("it ends").0, 1.0 + 6.0 / 3.0);
}

#[test]
fn a_job_that_is_stopped_leaves_its_disk_to_the_others_in_whole_bytes() {
    let mut execution = Execution::new(slow_disks(true), max_min());
    let reads = rigid(vec![phase(1.0, vec![buffer(Direction::Read, 10.0, Pattern::Uniform)])]);
    execution.start_at(0.0, 0, &reads, &[0], 0).expect("it starts");
    execution.start_at(0.0, 1, &reads, &[0], 0).expect("it starts");
    assert!(execution.advance_to(0.0).is_none());
    // Each has read 1.5 bytes, which count as 2.
    execution.stop_at(1.0, 1);
    close(run(&mut execution)[0].0, 1.0 + 8.0 / 3.0);
}
