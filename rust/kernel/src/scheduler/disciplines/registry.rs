//! The registry of disciplines: name, source and rules of each.
use crate::priority::ServiceOrder;

use super::backfilling::{easy_literal, easy_skip};
use super::candidates::{Candidate, Candidates, Capacity};
use super::filling::server_filling;
use super::in_order::{all_that_fit, prefix};
use super::knapsack::{divisor_filling, max_weight};

/// When a discipline selects jobs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In each pass.
    EachPass,
    /// After resources were released, or while no job runs.
    Departures,
}

/// Registry entry of a discipline.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source publication.
    pub source: &'static str,
    /// True if the discipline suspends running jobs.
    pub is_preemptive: bool,
    /// Order of the jobs.
    pub order: ServiceOrder,
    /// When the discipline selects.
    pub when: When,
    /// Selects the jobs to serve from the present jobs.
    pub select: fn(&mut dyn Candidates, &mut Capacity) -> Vec<Candidate>,
}

const RUMYANTSEV: &str = "A. Rumyantsev, T. Morozova, R. Basmadjian: Discrete-event modeling of a high-performance \
                          computing cluster with service rate control. FRUCT 2018";
const WCFS: &str = "I. Grosof, M. Harchol-Balter, A. Scheller-Wolf: WCFS: a new framework for analyzing multiserver \
                    systems. Queueing Systems 102, 2022";
const SRPT: &str = "I. Grosof, Z. Scully, M. Harchol-Balter, A. Scheller-Wolf: Optimal scheduling in the \
                    multiserver-job model under heavy traffic. POMACS 6(3), 2022";
const MAGULURI: &str = "S. T. Maguluri, R. Srikant, L. Ying: Stochastic models of load balancing and scheduling in \
                        cloud computing clusters. IEEE INFOCOM 2012";

const PLAIN: Entry = Entry {
    name: "",
    summary: "",
    source: RUMYANTSEV,
    is_preemptive: true,
    order: ServiceOrder::FirstCome,
    when: When::EachPass,
    select: prefix,
};

/// All disciplines.
pub const DISCIPLINES: [Entry; 13] = [
    Entry {
        name: "lcfs",
        summary: "preemptive: last come, first served, up to the first that does not fit",
        order: ServiceOrder::LastCome,
        ..PLAIN
    },
    Entry {
        name: "lpf",
        summary: "preemptive, at departures only: most remaining work first, up to the first that does not fit",
        order: ServiceOrder::LongestWork,
        when: When::Departures,
        ..PLAIN
    },
    Entry {
        name: "spf",
        summary: "preemptive, at departures only: least remaining work first, up to the first that does not fit",
        order: ServiceOrder::ShortestWork,
        when: When::Departures,
        ..PLAIN
    },
    Entry {
        name: "lpf_np",
        summary: "not preemptive: most remaining work first, up to the first that does not fit",
        is_preemptive: false,
        order: ServiceOrder::LongestWork,
        ..PLAIN
    },
    Entry {
        name: "spf_np",
        summary: "not preemptive: least remaining work first, up to the first that does not fit",
        is_preemptive: false,
        order: ServiceOrder::ShortestWork,
        ..PLAIN
    },
    Entry {
        name: "easy_literal",
        summary: "preemptive: EASY on remaining work, backfilling up to the first that does not fit",
        select: easy_literal,
        ..PLAIN
    },
    Entry {
        name: "easy_skip",
        summary: "preemptive: EASY on remaining work, past jobs that do not fit",
        select: easy_skip,
        ..PLAIN
    },
    Entry {
        name: "server_filling",
        summary: "preemptive: of the first jobs that ask for all servers those that ask for most first",
        source: WCFS,
        select: server_filling,
        ..PLAIN
    },
    Entry {
        name: "server_filling_srpt",
        summary: "preemptive: server_filling on least remaining work × servers first",
        source: SRPT,
        order: ServiceOrder::SmallestSize,
        select: server_filling,
        ..PLAIN
    },
    Entry {
        name: "divisor_filling",
        summary: "preemptive: of as many first jobs as there are servers those that keep most servers busy",
        source: SRPT,
        select: divisor_filling,
        ..PLAIN
    },
    Entry {
        name: "most_servers_first",
        summary: "preemptive: those that ask for most servers first, past jobs that do not fit",
        source: MAGULURI,
        order: ServiceOrder::MostServers,
        select: all_that_fit,
        ..PLAIN
    },
    Entry {
        name: "least_servers_first",
        summary: "preemptive: those that ask for fewest servers first, past jobs that do not fit",
        source: MAGULURI,
        order: ServiceOrder::LeastServers,
        select: all_that_fit,
        ..PLAIN
    },
    Entry {
        name: "max_weight",
        summary: "preemptive: the jobs that fit together whose requests have most jobs present",
        source: MAGULURI,
        select: max_weight,
        ..PLAIN
    },
];

/// Return the index of the discipline with this name.
#[must_use]
pub fn named(name: &str) -> Option<usize> {
    DISCIPLINES.iter().position(|entry| entry.name == name)
}
