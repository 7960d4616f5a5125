//! What a discipline selects from: the jobs present, in its order, and the capacity that they share.

/// A job present.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its slot.
    pub job: u32,
    /// Whether it is being served.
    pub runs: bool,
    /// How many servers it asks for.
    pub servers: i64,
    /// Its remaining work.
    pub work: f64,
    /// What it asks for of each resource in all.
    pub needs: Vec<i64>,
    /// The node sets in which it may be served, by their numbers, in the order in which they are tried.
    pub sets: Vec<usize>,
    /// The one of them in which it counts, once it is selected.
    pub set: usize,
}

/// The jobs present, one by one in the order of a discipline.
pub trait Candidates {
    /// The next job.
    fn next(&mut self) -> Option<Candidate>;

    /// The running jobs that have not come yet, in order.
    fn take_running(&mut self) -> Vec<Candidate>;

    /// The next job that the capacity left admits.
    fn next_within(&mut self, capacity: &Capacity) -> Option<Candidate> {
        loop {
            let next = self.next()?;
            if capacity.admits(&next).is_some() {
                return Some(next);
            }
        }
    }
}

/// What is left of the capacity of each node set.
///
/// A job counts in one set of its own and in the whole machine, which is set 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Amounts of each resource that are left, set-major.
    pub left: Vec<i64>,
    /// What jobs that cannot be suspended hold besides, likewise.
    pub kept: Vec<i64>,
    /// The number of resources.
    pub resources: usize,
    /// The resource that counts servers.
    pub server: usize,
}

impl Capacity {
    /// The servers that are left on the whole machine.
    #[must_use]
    pub fn servers(&self) -> i64 {
        self.left[self.server]
    }

    /// What is left in a set.
    #[must_use]
    pub fn left_in(&self, set: usize) -> &[i64] {
        &self.left[set * self.resources..(set + 1) * self.resources]
    }

    /// Whether a set, and the whole machine, have these amounts left.
    #[must_use]
    pub fn has(&self, set: usize, needs: &[i64]) -> bool {
        let fits = |left: &[i64]| needs.iter().zip(left).all(|(need, left)| need <= left);
        fits(self.left_in(set)) && (set == 0 || fits(self.left_in(0)))
    }

    /// The first of the sets of a job in which it fits.
    #[must_use]
    pub fn admits(&self, candidate: &Candidate) -> Option<usize> {
        candidate.sets.iter().copied().find(|&set| self.has(set, &candidate.needs))
    }

    /// Adds amounts, `times` over, to what is left in a set and on the whole machine.
    pub fn add(&mut self, set: usize, amounts: &[i64], times: i64) {
        for of in [0, set].iter().take(1 + usize::from(set != 0)) {
            let from = of * self.resources;
            for (left, amount) in self.left[from..from + self.resources].iter_mut().zip(amounts) {
                *left += times * amount;
            }
        }
    }

    /// Gives a job its share, in the first of its sets in which it fits; whether there is one.
    pub fn take(&mut self, candidate: &mut Candidate) -> bool {
        let Some(set) = self.admits(candidate) else { return false };
        candidate.set = set;
        self.add(set, &candidate.needs, -1);
        true
    }
}
