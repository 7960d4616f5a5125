//! `MaxWeight` and `DivisorFilling` (S20): the set of jobs with the largest total weight that fits.
//!
//! Jobs with equal requests form a class, and a selection is a number of jobs for each class. An exact dynamic program
//! over the classes and the remaining capacities finds it: with one resource O(classes × servers × most jobs of a class
//! that fit); with several resources there are as many capacities as distinct sums of requests.
use std::cmp::Reverse;
use std::collections::HashMap;

use super::candidates::{Candidate, Candidates, Capacity};

/// `MaxWeight`: the weight of a job is the number of present jobs in its class. O(present) in addition to the search.
pub fn max_weight(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let mut present = Vec::new();
    while let Some(job) = jobs.next() {
        present.push(job);
    }
    heaviest(present, capacity, |class| class.jobs.len() as i64)
}

/// `DivisorFilling`: from the first `servers` jobs, select those that keep most servers busy.
pub fn divisor_filling(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let mut first = Vec::new();
    while (first.len() as i64) < capacity.servers().max(1) {
        let Some(job) = jobs.next() else { break };
        first.push(job);
    }
    heaviest(first, capacity, |class| class.jobs[0].servers)
}

/// Jobs with equal requests.
struct Class {
    /// In order of the discipline.
    jobs: Vec<Candidate>,
    weight: i64,
}

/// Return the jobs with the largest total weight that fit. Ties prefer more jobs of the widest class, then of the next.
fn heaviest(jobs: Vec<Candidate>, capacity: &mut Capacity, weight: impl Fn(&Class) -> i64) -> Vec<Candidate> {
    let mut classes = classes_of(jobs);
    for class in &mut classes {
        class.weight = weight(class);
    }
    let mut search = Search { demand: demand_from(&classes, capacity), known: HashMap::new(), classes };
    let mut counts = Vec::with_capacity(search.classes.len());
    for place in 0..search.classes.len() {
        let best = search.most_from(place, capacity);
        let fitting = search.fitting(place, capacity);
        let count = (0..=fitting).rev().find(|&count| search.weight_with(place, count, capacity) == best);
        counts.push(count.unwrap_or_default());
        search.take(place, counts[place] as i64, capacity);
    }
    search
        .classes
        .into_iter()
        .zip(counts)
        .flat_map(|(class, count)| class.jobs.into_iter().take(count))
        .collect()
}

/// Group the jobs into classes, widest first; classes of equal requests are in the order of their first jobs.
fn classes_of(jobs: Vec<Candidate>) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut known: HashMap<(usize, Vec<i64>), usize> = HashMap::new();
    for mut job in jobs {
        job.set = job.sets[0];
        let at = *known.entry((job.set, job.needs.clone())).or_insert(classes.len());
        match classes.get_mut(at) {
            Some(class) => class.jobs.push(job),
            None => classes.push(Class { jobs: vec![job], weight: 0 }),
        }
    }
    classes.sort_by_key(|class| Reverse((class.jobs[0].servers, class.jobs[0].needs.clone())));
    classes
}

/// Return, for each index, the total request of the classes from there on, set-major: more capacity than that has no
/// effect.
fn demand_from(classes: &[Class], capacity: &Capacity) -> Vec<Vec<i64>> {
    let mut demand = Capacity { left: vec![0; capacity.left.len()], ..capacity.clone() };
    let mut from = vec![demand.left.clone()];
    for class in classes.iter().rev() {
        demand.add(class.jobs[0].set, &class.jobs[0].needs, class.jobs.len() as i64);
        from.push(demand.left.clone());
    }
    from.reverse();
    from
}

struct Search {
    classes: Vec<Class>,
    demand: Vec<Vec<i64>>,
    /// Memo of `most_from`: the largest weight by class index and remaining capacity.
    known: HashMap<(usize, Vec<i64>), i64>,
}

impl Search {
    /// Return the largest weight of the classes from index `place` on within a capacity.
    fn most_from(&mut self, place: usize, capacity: &mut Capacity) -> i64 {
        if place == self.classes.len() {
            return 0;
        }
        let matters = capacity.left.iter().zip(&self.demand[place]).map(|(&left, &demand)| left.min(demand));
        let key = (place, matters.collect());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let counts = 0..=self.fitting(place, capacity);
        let most = counts.map(|count| self.weight_with(place, count, capacity)).max().unwrap_or_default();
        self.known.insert(key, most);
        most
    }

    /// Return the largest weight of the classes from `place` on with `count` jobs of the first of them.
    fn weight_with(&mut self, place: usize, count: usize, capacity: &mut Capacity) -> i64 {
        self.take(place, count as i64, capacity);
        let others = self.most_from(place + 1, capacity);
        self.take(place, -(count as i64), capacity);
        count as i64 * self.classes[place].weight + others
    }

    /// Return the number of jobs of a class that fit.
    fn fitting(&self, place: usize, capacity: &Capacity) -> usize {
        let Class { jobs, .. } = &self.classes[place];
        let (set, needs) = (jobs[0].set, &jobs[0].needs);
        let admitted = |left: &[i64]| {
            let counts = needs.iter().zip(left).filter(|(need, _)| **need > 0);
            counts.map(|(need, left)| (left / need).max(0)).min().unwrap_or(i64::MAX)
        };
        let most = admitted(capacity.left_in(set)).min(admitted(capacity.left_in(0)));
        jobs.len().min(usize::try_from(most).unwrap_or(usize::MAX))
    }

    fn take(&self, place: usize, count: i64, capacity: &mut Capacity) {
        let job = &self.classes[place].jobs[0];
        capacity.add(job.set, &job.needs, -count);
    }
}
