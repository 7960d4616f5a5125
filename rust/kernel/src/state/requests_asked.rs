//! Requests of the jobs in a range of the queue, decoded from its values.
use crate::scenario::Scenario;

use super::request_values::RequestValues;
use super::{State, View};

/// Minimum estimate and tasks of the jobs with one request; possibly of different jobs.
#[derive(Clone, Copy, Debug)]
pub struct LeastAsked {
    /// Index of the request.
    pub request: u32,
    /// The estimate as ordered bits.
    pub estimate: i64,
    /// The number of tasks.
    pub tasks: u64,
}

/// Knowledge of the requests of jobs in a range of the queue.
#[derive(Clone, Copy, Debug)]
pub enum RequestsAsked<'a> {
    /// Nothing.
    Unknown,
    /// All jobs have this request, and at least this many tasks.
    Common(u32, u64),
    /// Values of each request, as in `RequestValues::Each`.
    Each(&'a [i64]),
}

impl State {
    /// Encode requests in the queue values if totals do not decide. The queue must be empty, and all jobs known.
    pub fn distinguish_requests(&mut self, scenario: &Scenario) {
        self.queue.tell_requests(&self.machine, RequestValues::of(&scenario.requests));
    }
}

impl<'a> View<'a> {
    /// Return the knowledge of the requests of jobs with these queue values.
    #[must_use]
    pub fn requests_asked(self, values: &'a [i64]) -> RequestsAsked<'a> {
        let width = self.state.machine.resources() + 1;
        let kept = self.state.queue.requests();
        let begin = self.scenario.node_sets.count() * width;
        let own = &values[begin..begin + kept.width()];
        match (kept, own) {
            (RequestValues::Each(_), _) => RequestsAsked::Each(own),
            // No request number is stored for jobs with several requests.
            (RequestValues::Number, &[least, minus_most]) if least >= 0 && least == -minus_most => {
                let request = self.scenario.requests.get(least as u32);
                let needs = &values[request.nodes.block(width)][1..];
                let asked = needs.iter().zip(&request.amounts).find(|&(_, &amount)| amount > 0);
                asked.map_or(RequestsAsked::Unknown, |(need, amount)| {
                    RequestsAsked::Common(least as u32, (need / amount) as u64)
                })
            }
            (RequestValues::None | RequestValues::Number, _) => RequestsAsked::Unknown,
        }
    }
}

/// Return the requests of the jobs, from the values of `RequestValues::Each`.
pub fn each_asked(values: &[i64]) -> impl Iterator<Item = LeastAsked> {
    let (pairs, _) = values.as_chunks::<2>();
    pairs.iter().enumerate().filter(|(_, [estimate, _])| *estimate != i64::MAX).map(
        |(request, &[estimate, tasks])| LeastAsked { request: request as u32, estimate, tasks: tasks as u64 },
    )
}
