//! Job dependencies: the graph of jobs that wait for others to start or end, and its state.
//!
//! A job has clauses, each a list of needs; it waits until every need of one clause is met. A need names a subject: a
//! job, or a group of jobs or groups. A group has started (ended) when all of its members have. Updates cost O(1) per
//! need and per membership. The graph never changes and is shared by forks; its progress is stored in a separate state.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// Condition on the subject of a need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DependencyKind {
    /// The subject has started, or ended without a start.
    After,
    /// The subject has completed.
    AfterOk,
    /// The subject has ended without completing.
    AfterNotOk,
    /// The subject has ended.
    AfterAny,
}

impl DependencyKind {
    /// All kinds with their names.
    pub const NAMES: [(&str, Self); 4] = [
        ("after", Self::After),
        ("afterok", Self::AfterOk),
        ("afternotok", Self::AfterNotOk),
        ("afterany", Self::AfterAny),
    ];

    /// Returns whether an event meets or breaks a need of this kind; None if it decides nothing.
    fn is_met_by(self, event: Event) -> Option<bool> {
        match (self, event) {
            (Self::After, Event::Started) | (Self::AfterAny, Event::Ended(_)) => Some(true),
            (Self::AfterOk, Event::Ended(completed)) => Some(completed),
            (Self::AfterNotOk, Event::Ended(completed)) => Some(!completed),
            _ => None,
        }
    }
}

/// A need of one job: the subject is a slot, or the number of jobs plus the number of a group.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The subject.
    pub on: u32,
    /// The condition on the subject.
    pub kind: DependencyKind,
    /// Seconds that must pass after the start of the subject; 0 for other kinds.
    pub delay: f64,
}

/// Event of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The subject starts.
    Started,
    /// The subject ends; true if completed.
    Ended(bool),
}

/// Values in rows of different lengths: row `n` is `values[from[n]..from[n + 1]]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rows<T> {
    from: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy> Rows<T> {
    fn new(count: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut from = vec![0; count + 1];
        for (row, _) in pairs.clone() {
            from[row as usize + 1] += 1;
        }
        for row in 0..count {
            from[row + 1] += from[row];
        }
        let mut order: Vec<(u32, T)> = pairs.collect();
        order.sort_by_key(|&(row, _)| row);
        Self { from, values: order.into_iter().map(|(_, value)| value).collect() }
    }

    fn range(&self, row: u32) -> std::ops::Range<usize> {
        self.from[row as usize] as usize..self.from[row as usize + 1] as usize
    }
}

/// A clause that has a need on a subject.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Dependent {
    clause: u32,
    kind: DependencyKind,
    delay: f64,
}

/// The dependency graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dependencies {
    /// By subject.
    dependents: Rows<Dependent>,
    /// The groups that contain a subject.
    groups: Rows<u32>,
    /// The job of each clause.
    owners: Vec<u32>,
}

impl Dependencies {
    /// Creates the graph of a number of jobs, and its initial state; each clause consists of its job and its needs.
    #[must_use]
    pub fn new(jobs: usize, clauses: &[(u32, Vec<Need>)], groups: &[Vec<u32>]) -> (Self, DependencyState) {
        let subjects = jobs + groups.len();
        let needs = clauses.iter().enumerate().flat_map(|(clause, (_, needs))| {
            let dependent =
                move |need: &Need| Dependent { clause: clause as u32, kind: need.kind, delay: need.delay };
            needs.iter().map(move |need| (need.on, dependent(need)))
        });
        let members = groups.iter().enumerate().flat_map(|(number, members)| {
            members.iter().map(move |&member| (member, (jobs + number) as u32))
        });
        let graph = Self {
            dependents: Rows::new(subjects, needs),
            groups: Rows::new(subjects, members),
            owners: clauses.iter().map(|&(job, _)| job).collect(),
        };
        let mut waits = vec![Waits { possible: 0, met: true }; jobs];
        for &job in &graph.owners {
            let own = &mut waits[job as usize];
            *own = Waits { possible: own.possible + 1, met: false };
        }
        let lone = std::iter::repeat_n(1, jobs);
        let sizes = lone.chain(groups.iter().map(|members| members.len() as u32));
        let state = DependencyState {
            subjects: sizes.map(|size| Course { unstarted: size, unended: size, completed: true }).collect(),
            clauses: clauses
                .iter()
                .map(|(_, needs)| Clause { missing: needs.len() as u32, failed: false })
                .collect(),
            jobs: waits.into_iter().collect(),
        };
        (graph, state)
    }
}

/// Progress of a subject.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Course {
    /// Number of members that have not started; a job counts as its only member.
    unstarted: u32,
    unended: u32,
    /// True if all ended members completed.
    completed: bool,
}

/// Progress of a clause.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Clause {
    missing: u32,
    failed: bool,
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waits {
    /// Number of clauses that have not failed.
    possible: u32,
    met: bool,
}

/// Progress of the dependencies of all jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DependencyState {
    subjects: SharedColumn<Course>,
    clauses: SharedColumn<Clause>,
    jobs: SharedColumn<Waits>,
}

/// The consequences of an event of a job.
#[derive(Clone, Debug, Default)]
pub struct Consequences {
    /// Jobs with dependencies that are now met, or can no longer be met.
    pub decided: Vec<u32>,
    /// Needs to be met after a delay: the job, the need, the delay in seconds.
    pub delayed: Vec<(u32, u32, f64)>,
}

impl DependencyState {
    /// Prepares a clone that shares unchanged parts.
    pub fn share(&mut self) {
        self.subjects.share();
        self.clauses.share();
        self.jobs.share();
    }

    /// Returns whether a job waits for no other job.
    #[must_use]
    pub fn is_met(&self, job: u32) -> bool {
        self.jobs.get(job as usize).met
    }

    /// Returns whether a job can never start.
    #[must_use]
    pub fn can_never_start(&self, job: u32) -> bool {
        let waits = self.jobs.get(job as usize);
        !waits.met && waits.possible == 0
    }

    /// Records the start of a job, its first or a later one.
    pub fn started(&mut self, graph: &Dependencies, job: u32) -> Consequences {
        let mut follows = Consequences::default();
        if self.subjects.get(job as usize).unstarted > 0 {
            self.follow(graph, job, Event::Started, &mut follows);
        }
        follows
    }

    /// Records the end of a job. A job that ends without a start counts as started then.
    pub fn ended(&mut self, graph: &Dependencies, job: u32, completed: bool) -> Consequences {
        let mut follows = self.started(graph, job);
        // The job itself no longer waits for others.
        self.jobs.get_mut(job as usize).met = true;
        self.follow(graph, job, Event::Ended(completed), &mut follows);
        follows
    }

    /// Meets a need after its delay; returns the job if its dependencies are met by that.
    pub fn meet(&mut self, graph: &Dependencies, need: u32) -> Option<u32> {
        let clause = graph.dependents.values[need as usize].clause;
        let mut decided = Vec::new();
        self.decide(graph, clause, true, &mut decided);
        decided.pop()
    }

    /// Applies an event of a job to the needs on it, and to the groups that contain it.
    fn follow(&mut self, graph: &Dependencies, job: u32, event: Event, follows: &mut Consequences) {
        let mut events = vec![(job, event)];
        while let Some((subject, event)) = events.pop() {
            let Some(event) = self.subjects.get_mut(subject as usize).after(event) else { continue };
            for need in graph.dependents.range(subject) {
                let dependent = graph.dependents.values[need];
                match dependent.kind.is_met_by(event) {
                    Some(true) if dependent.delay > 0.0 => {
                        let owner = graph.owners[dependent.clause as usize];
                        if !self.is_met(owner) {
                            follows.delayed.push((owner, need as u32, dependent.delay));
                        }
                    }
                    Some(is_met) => self.decide(graph, dependent.clause, is_met, &mut follows.decided),
                    None => {}
                }
            }
            let groups = &graph.groups.values[graph.groups.range(subject)];
            events.extend(groups.iter().map(|&group| (group, event)));
        }
    }

    /// Applies a need of a clause that is met or has failed.
    fn decide(&mut self, graph: &Dependencies, clause: u32, is_met: bool, decided: &mut Vec<u32>) {
        let owner = graph.owners[clause as usize];
        let clause = self.clauses.get_mut(clause as usize);
        let waits = self.jobs.get_mut(owner as usize);
        if clause.failed || waits.met {
            return;
        }
        if is_met {
            clause.missing -= 1;
            waits.met = clause.missing == 0;
        } else {
            clause.failed = true;
            waits.possible -= 1;
        }
        if waits.met || waits.possible == 0 {
            decided.push(owner);
        }
    }
}

impl Course {
    /// Applies an event of a member; returns the resulting event of the whole subject, if any.
    fn after(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Started => {
                self.unstarted -= 1;
                (self.unstarted == 0).then_some(Event::Started)
            }
            Event::Ended(completed) => {
                self.unended -= 1;
                self.completed &= completed;
                (self.unended == 0).then_some(Event::Ended(self.completed))
            }
        }
    }
}
