//! Compare each selection with a brute-force search on random jobs and capacities.
use std::collections::VecDeque;

use super::candidates::{Candidate, Candidates, Capacity};
use super::registry::DISCIPLINES;
use crate::random::mix;

struct List(VecDeque<Candidate>);

impl Candidates for List {
    fn next(&mut self) -> Option<Candidate> {
        self.0.pop_front()
    }

    fn take_running(&mut self) -> Vec<Candidate> {
        let (running, waiting) = self.0.drain(..).partition(|job| job.runs);
        self.0 = waiting;
        Vec::from_iter::<VecDeque<Candidate>>(running)
    }
}

/// Draw random jobs in order, with one or two resources, and a capacity.
fn case(seed: u64) -> (Vec<Candidate>, Capacity) {
    let mut drawn = 0;
    let mut below = |limit: u64| {
        drawn += 1;
        (mix(seed, drawn) % limit) as i64
    };
    let resources = 1 + below(2) as usize;
    let left: Vec<i64> = (0..resources).map(|_| 1 + below(8)).collect();
    let jobs = 1 + below(7);
    let one = |job| {
        let needs: Vec<i64> = (0..resources).map(|_| 1 + below(4)).collect();
        let (servers, work, runs) = (needs[0], below(6) as f64, below(3) == 0);
        Candidate { job: job as u32, runs, servers, work, needs, sets: vec![0], set: 0 }
    };
    let jobs = (0..jobs).map(one).collect();
    (jobs, Capacity { kept: vec![0; resources], left, resources, server: 0 })
}

fn fit(jobs: &[&Candidate], capacity: &Capacity) -> bool {
    (0..capacity.resources)
        .all(|each| jobs.iter().map(|job| job.needs[each]).sum::<i64>() <= capacity.left[each])
}

fn selected(name: &str, jobs: &[Candidate], capacity: &Capacity) -> Vec<u32> {
    let entry = DISCIPLINES.iter().find(|entry| entry.name == name).expect("the name of a discipline");
    let mut list = List(jobs.iter().cloned().collect());
    let mut served: Vec<u32> =
        (entry.select)(&mut list, &mut capacity.clone()).iter().map(|job| job.job).collect();
    served.sort_unstable();
    served
}

fn subsets(jobs: &[Candidate]) -> impl Iterator<Item = Vec<&Candidate>> {
    (0..1_u32 << jobs.len()).map(|set| jobs.iter().filter(|job| set >> job.job & 1 == 1).collect())
}

fn numbers(jobs: &[&Candidate]) -> Vec<u32> {
    jobs.iter().map(|job| job.job).collect()
}

/// Return the jobs that fit in addition to the jobs before them.
fn greedily<'a>(jobs: impl Iterator<Item = &'a Candidate>, capacity: &Capacity) -> Vec<&'a Candidate> {
    let mut served = Vec::new();
    for job in jobs {
        served.push(job);
        if !fit(&served, capacity) {
            served.pop();
        }
    }
    served
}

#[test]
fn a_prefix_is_the_longest_that_fits() {
    for seed in 0..500 {
        let (jobs, capacity) = case(seed);
        let whole: Vec<&Candidate> = jobs.iter().collect();
        let most = (0..=jobs.len()).rev().find(|&count| fit(&whole[..count], &capacity)).expect("none fits");
        assert_eq!(selected("lcfs", &jobs, &capacity), numbers(&whole[..most]));
    }
}

#[test]
fn past_those_that_do_not_fit_none_is_left_out_that_does() {
    for seed in 0..500 {
        let (jobs, capacity) = case(seed);
        assert_eq!(
            selected("most_servers_first", &jobs, &capacity),
            numbers(&greedily(jobs.iter(), &capacity))
        );
    }
}

#[test]
fn server_filling_takes_the_widest_of_the_first_that_ask_for_all() {
    for seed in 0..500 {
        let (jobs, capacity) = case(seed);
        let asked = |count: usize| jobs[..count].iter().map(|job| job.servers).sum::<i64>();
        let count = (0..=jobs.len()).find(|&count| asked(count) >= capacity.left[0]).unwrap_or(jobs.len());
        let widths = (1..=4).rev();
        let sorted = widths.flat_map(|width| jobs[..count].iter().filter(move |job| job.servers == width));
        let mut expected = numbers(&greedily(sorted, &capacity));
        expected.sort_unstable();
        assert_eq!(selected("server_filling", &jobs, &capacity), expected);
    }
}

#[test]
fn server_filling_leaves_no_server_idle_where_all_are_powers_of_two() {
    for seed in 0..500 {
        let (mut jobs, mut capacity) = case(seed);
        (capacity.left, capacity.kept, capacity.resources) = (vec![8], vec![0], 1);
        for job in &mut jobs {
            job.servers = 1 << (job.servers - 1);
            job.needs = vec![job.servers];
        }
        let served = selected("server_filling", &jobs, &capacity);
        let busy: i64 = served.iter().map(|&job| jobs[job as usize].servers).sum();
        assert_eq!(busy, jobs.iter().map(|job| job.servers).sum::<i64>().min(8));
    }
}

#[test]
fn the_heaviest_set_is_found() {
    for seed in 0..500 {
        let (jobs, capacity) = case(seed);
        let alike = |job: &Candidate| jobs.iter().filter(|other| other.needs == job.needs).count() as i64;
        let first = jobs.len().min(capacity.left[0] as usize);
        let widths = |job: &Candidate| job.servers;
        for (name, among) in [("max_weight", &jobs[..]), ("divisor_filling", &jobs[..first])] {
            let weight: &dyn Fn(&Candidate) -> i64 = if name == "max_weight" { &alike } else { &widths };
            let weight_of = |set: &[&Candidate]| set.iter().map(|job| weight(job)).sum::<i64>();
            let most = subsets(among).filter(|set| fit(set, &capacity)).map(|set| weight_of(&set)).max();
            let served = selected(name, &jobs, &capacity);
            let served: Vec<&Candidate> = served.iter().map(|&job| &jobs[job as usize]).collect();
            assert!(fit(&served, &capacity));
            assert_eq!(Some(weight_of(&served)), most, "{name}, seed {seed}");
        }
    }
}

/// Return the earliest start of the head, from the workload vector of the paper: one level per server, ascending.
fn alpha(before: &[&Candidate], head: &Candidate, servers: i64) -> f64 {
    let mut levels = vec![0.0_f64; servers as usize];
    for job in before {
        let (width, start) = (job.servers as usize, levels[job.servers as usize - 1]);
        levels[..width].fill(start + job.work);
        levels.sort_by(f64::total_cmp);
    }
    levels.get(head.servers as usize - 1).copied().unwrap_or(f64::INFINITY)
}

#[test]
fn easy_backfills_what_ends_before_the_level_of_the_head() {
    for seed in 0..2000 {
        let (jobs, capacity) = case(seed);
        if capacity.resources > 1 {
            continue;
        }
        let whole: Vec<&Candidate> = jobs.iter().collect();
        let most = (0..=jobs.len()).rev().find(|&count| fit(&whole[..count], &capacity)).expect("none fits");
        let (mut literal, mut skipping) = (whole[..most].to_vec(), whole[..most].to_vec());
        if let Some((head, behind)) = whole[most..].split_first() {
            let alpha = alpha(&whole[..most], head, capacity.left[0]);
            for job in behind.iter().filter(|job| job.work < alpha) {
                literal.push(job);
                if !fit(&literal, &capacity) {
                    literal.pop();
                    break;
                }
            }
            let running = behind.iter().filter(|job| job.runs);
            let others = behind.iter().filter(|job| !job.runs && job.work < alpha);
            skipping = greedily(skipping.into_iter().chain(running.chain(others).copied()), &capacity);
        }
        assert_eq!(selected("easy_literal", &jobs, &capacity), numbers(&literal), "seed {seed}");
        let mut skipping = numbers(&skipping);
        skipping.sort_unstable();
        assert_eq!(selected("easy_skip", &jobs, &capacity), skipping, "seed {seed}");
    }
}
