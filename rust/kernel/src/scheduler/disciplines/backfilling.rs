//! EASY on remaining work (S20): the jobs served first come, first served, and those behind the head that end before it could
//! start. After Rumyantsev, Morozova and Basmadjian (2018), equations (13)–(15).
use super::candidates::{Candidate, Candidates, Capacity};
use super::in_order::prefix_and_head;

/// As printed: those behind the head whose work is less than what has to be done before the head starts, in order, up to the
/// first that does not fit.
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

/// The same past those that do not fit; jobs behind the head that are being served go on.
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

/// The work that has to be done before the head can start: the component α of the workload vector (15). Infinite where it
/// never can. What jobs hold that cannot be suspended counts as free. O(s log s), s jobs served.
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
