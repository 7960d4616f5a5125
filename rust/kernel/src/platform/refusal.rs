//! Why a platform cannot be built.
use std::error::Error;
use std::fmt;

use super::graph::MOST_FLOYD_MEMBERS;

/// So many hosts a platform may have.
pub const MOST_HOSTS: u64 = 1 << 20;
/// So many links a platform may have.
pub const MOST_LINKS: u64 = 1 << 24;

/// Why a part cannot be added. The texts follow the name of the part that they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name is taken by something of a kind.
    Taken(Kind, String),
    /// There is a zone already that holds everything.
    SecondRoot,
    /// Nothing of that kind is called so.
    Unknown(Kind, String),
    /// A route's end is not directly in the zone of the route.
    Elsewhere(String),
    /// A zone needs a gateway in it.
    NoGateway(String),
    /// The gateway is not a host or router inside its zone.
    WrongGateway {
        /// The name that was given.
        gateway: String,
        /// The end that it was given for.
        end: String,
    },
    /// There is a route already.
    RouteTwice {
        /// Whether it is the way back that is there.
        reverse: bool,
    },
    /// The zone computes its routes.
    NoRoutesHere,
    /// The topology needs another number of hosts.
    Hosts {
        /// What it needs.
        needed: u64,
        /// What there is.
        given: u64,
    },
    /// There are more groups than routers in a group.
    Groups(u32),
    /// It is too large to be stored.
    TooLarge,
    /// Too many members for Floyd's rule.
    TooManyForFloyd,
}

/// What a name can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A host.
    Host,
    /// A link.
    Link,
    /// What routes can join: a host, a router or a zone.
    End,
}

impl fmt::Display for Kind {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(match self {
            Self::Host => "host",
            Self::Link => "link",
            Self::End => "host, router or zone",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(kind, name) => {
                write!(text, "there is already a {kind} called {name:?}; rename one of them")
            }
            Self::SecondRoot => write!(text, "must be inside the first zone; one zone holds everything"),
            Self::Unknown(kind, name) => write!(text, "no {kind} is called {name:?}"),
            Self::Elsewhere(name) => {
                write!(
                    text,
                    "{name:?} is not directly in this zone; give the route where both ends are members"
                )
            }
            Self::NoGateway(zone) => write!(text, "{zone:?} is a zone; name the gateway in it"),
            Self::WrongGateway { gateway, end } => {
                write!(text, "gateway {gateway:?} is no host or router in {end:?}; name one of those")
            }
            Self::RouteTwice { reverse: false } => {
                write!(text, "there is already such a route; keep one of them")
            }
            Self::RouteTwice { reverse: true } => write!(
                text,
                "there is already a route the other way; routes go both ways unless they are said to be not symmetrical"
            ),
            Self::NoRoutesHere => write!(text, "this zone computes its routes; give none"),
            Self::Hosts { needed, given } => {
                write!(
                    text,
                    "the topology is one of {needed} hosts, but there are {given}; they must be as many"
                )
            }
            Self::Groups(groups) => write!(
                text,
                "has {groups} groups; must be at most chassis × blades, since each router leads to one other group"
            ),
            Self::TooLarge => {
                write!(text, "is too large; a platform has at most {MOST_HOSTS} hosts and {MOST_LINKS} links")
            }
            Self::TooManyForFloyd => {
                write!(text, "Floyd's rule takes at most {MOST_FLOYD_MEMBERS} members; use Dijkstra's")
            }
        }
    }
}

impl Error for Refusal {}
