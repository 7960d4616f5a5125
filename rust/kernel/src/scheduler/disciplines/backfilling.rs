//! EASY on remaining work (S20): serve jobs first come, first served, and jobs behind the head that end before it can
//! start. After Rumyantsev, Morozova and Basmadjian (2018), equations (13)–(15).
use super::candidates::{Candidate, Candidates, Capacity};
use super::in_order::prefix_and_head;

/// Backfill as published: serve jobs behind the head with less work than `work_before`, in order, until one of them
/// does not fit.
pub fn easy_literal(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let (mut served, head) = prefix_and_head(jobs, capacity);
    let Some(head) = head else { return served };
    let before = work_before(&head, &served, capacity);
    while let Some(mut job) = jobs.next() {
        if job.work < before {
            if !capacity.take(&mut job) {
                break;
            }
            served.push(job);
        }
    }
    served
}

/// Backfill past jobs that do not fit. Running jobs behind the head continue.
pub fn easy_skip(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let (mut served, head) = prefix_and_head(jobs, capacity);
    let Some(head) = head else { return served };
    let before = work_before(&head, &served, capacity);
    for mut job in jobs.take_running() {
        if capacity.take(&mut job) {
            served.push(job);
        }
    }
    while let Some(mut job) = jobs.next_within(capacity) {
        if job.work < before && capacity.take(&mut job) {
            served.push(job);
        }
    }
    served
}

/// Return the work to complete before the head can start: the component α of the workload vector (15). Infinite if it
/// never can start. Resources of jobs that cannot be suspended count as free. O(s log s) for s jobs served.
fn work_before(head: &Candidate, served: &[Candidate], capacity: &Capacity) -> f64 {
    let mut by_work: Vec<&Candidate> = served.iter().collect();
    by_work.sort_by(|one, other| one.work.total_cmp(&other.work));
    let in_set = |&set: &usize| {
        let mut then = capacity.clone();
        for (left, kept) in then.left.iter_mut().zip(&capacity.kept) {
            *left += kept;
        }
        if then.has(set, &head.needs) {
            return 0.0;
        }
        for job in &by_work {
            then.add(job.set, &job.needs, 1);
            if then.has(set, &head.needs) {
                return job.work;
            }
        }
        f64::INFINITY
    };
    head.sets.iter().map(in_set).fold(f64::INFINITY, f64::min)
}
