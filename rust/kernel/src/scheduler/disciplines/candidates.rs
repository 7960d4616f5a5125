//! Input of a discipline: the present jobs in its order, and the capacity they share.

/// A present job: running or queued.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Slot of the job.
    pub job: u32,
    /// True if the job is running.
    pub runs: bool,
    /// Number of requested servers.
    pub servers: i64,
    /// Remaining work.
    pub work: f64,
    /// Total request of each resource.
    pub needs: Vec<i64>,
    /// Indices of the node sets in which the job may run, in the order in which they are tried.
    pub sets: Vec<usize>,
    /// The node set that the job is counted in once it is selected.
    pub set: usize,
}

/// Iterator over the present jobs in the order of a discipline.
pub trait Candidates {
    /// Return the next job.
    fn next(&mut self) -> Option<Candidate>;

    /// Remove and return the running jobs not returned yet, in order.
    fn take_running(&mut self) -> Vec<Candidate>;

    /// Return the next job that fits in the remaining capacity.
    fn next_within(&mut self, capacity: &Capacity) -> Option<Candidate> {
        loop {
            let next = self.next()?;
            if capacity.admits(&next).is_some() {
                return Some(next);
            }
        }
    }
}

/// Remaining capacity of each node set.
///
/// A job is counted in one set and in the whole machine, which is set 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Remaining amount of each resource, set-major.
    pub left: Vec<i64>,
    /// Amounts held by jobs that cannot be suspended, set-major.
    pub kept: Vec<i64>,
    /// Number of resources.
    pub resources: usize,
    /// Index of the resource that counts servers.
    pub server: usize,
}

impl Capacity {
    /// Return the remaining servers of the whole machine.
    #[must_use]
    pub fn servers(&self) -> i64 {
        self.left[self.server]
    }

    /// Return the remaining amounts of a set.
    #[must_use]
    pub fn left_in(&self, set: usize) -> &[i64] {
        &self.left[set * self.resources..(set + 1) * self.resources]
    }

    /// Return whether a set and the whole machine have these amounts left.
    #[must_use]
    pub fn has(&self, set: usize, needs: &[i64]) -> bool {
        let fits = |left: &[i64]| needs.iter().zip(left).all(|(need, left)| need <= left);
        fits(self.left_in(set)) && (set == 0 || fits(self.left_in(0)))
    }

    /// Return the first of the job's sets in which it fits.
    #[must_use]
    pub fn admits(&self, candidate: &Candidate) -> Option<usize> {
        candidate.sets.iter().copied().find(|&set| self.has(set, &candidate.needs))
    }

    /// Add `times` × `amounts` to the remaining capacity of a set and of the whole machine.
    pub fn add(&mut self, set: usize, amounts: &[i64], times: i64) {
        for of in [0, set].iter().take(1 + usize::from(set != 0)) {
            let from = of * self.resources;
            for (left, amount) in self.left[from..from + self.resources].iter_mut().zip(amounts) {
                *left += times * amount;
            }
        }
    }

    /// Subtract the job's request from the first of its sets in which it fits. Return false if there is none.
    pub fn take(&mut self, candidate: &mut Candidate) -> bool {
        let Some(set) = self.admits(candidate) else { return false };
        candidate.set = set;
        self.add(set, &candidate.needs, -1);
        true
    }
}
