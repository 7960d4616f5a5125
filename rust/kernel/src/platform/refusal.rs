//! Errors of building a platform.
use std::error::Error;
use std::fmt;

use super::graph::MOST_FLOYD_MEMBERS;

/// Maximum number of hosts of a platform.
pub const MOST_HOSTS: u64 = 1 << 20;
/// Maximum number of links of a platform.
pub const MOST_LINKS: u64 = 1 << 24;

/// The reason why a part cannot be added. The texts are preceded by the name of the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name is used by another part of this kind.
    Taken(Kind, String),
    /// The outermost zone exists already.
    SecondRoot,
    /// No part of this kind has this name.
    Unknown(Kind, String),
    /// A route's end is not directly in the zone of the route.
    Elsewhere(String),
    /// A zone needs a gateway inside it.
    NoGateway(String),
    /// The gateway is not a host or router inside its zone.
    WrongGateway {
        /// The given name.
        gateway: String,
        /// The end of the gateway.
        end: String,
    },
    /// The route exists already.
    RouteTwice {
        /// True if it is the return route that exists.
        reverse: bool,
    },
    /// The zone computes its routes.
    NoRoutesHere,
    /// The topology needs another number of hosts.
    Hosts {
        /// The number of hosts that it needs.
        needed: u64,
        /// The number of hosts that exist.
        given: u64,
    },
    /// There are more groups than routers per group.
    Groups(u32),
    /// The platform is too large.
    TooLarge,
    /// Too many members for Floyd's rule.
    TooManyForFloyd,
}

/// The kind of a named part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A host.
    Host,
    /// A link.
    Link,
    /// An end of routes: a host, a router or a zone.
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
