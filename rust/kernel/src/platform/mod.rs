//! The platform: hosts, links, and the routes between hosts.
//!
//! A platform is immutable; simulations share one.
use std::collections::HashMap;
use std::error::Error;
use std::fmt;

pub mod host;

pub use host::{Disk, Host, Link, Role, Sharing};

/// Hosts, links and routes; hosts and links are known by their places in the lists.
#[derive(Clone, Debug, Default)]
pub struct Platform {
    hosts: Vec<Host>,
    links: Vec<Link>,
    routes: HashMap<(u32, u32), Vec<u32>>,
}

/// Two hosts between which there is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The host that sends.
    pub from: u32,
    /// The host that receives.
    pub to: u32,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "there is no route from host {} to host {}", self.from, self.to)
    }
}

impl Error for NoRoute {}

impl Platform {
    /// A platform whose routes are all given: the links from one host to another, in order.
    #[must_use]
    pub fn of_routes(hosts: Vec<Host>, links: Vec<Link>, routes: HashMap<(u32, u32), Vec<u32>>) -> Self {
        Self { hosts, links, routes }
    }

    /// The hosts.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Appends the links of a route to `links`, in the order in which a flow crosses them; gives the latency of all
    /// of them in seconds.
    pub fn route(&self, from: u32, to: u32, links: &mut Vec<u32>) -> Result<f64, NoRoute> {
        let route = self.routes.get(&(from, to)).ok_or(NoRoute { from, to })?;
        links.extend(route);
        Ok(route.iter().map(|&link| self.links[link as usize].latency).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, latency: f64) -> Link {
        Link { name: name.to_owned(), bandwidth: 1e9, latency, sharing: Sharing::Shared }
    }

    #[test]
    fn given_routes_are_taken() {
        let hosts = vec![Host::default(); 3];
        let routes = HashMap::from([((0, 1), vec![1, 0])]);
        let platform = Platform::of_routes(hosts, vec![link("a", 0.5), link("b", 0.25)], routes);
        let mut links = vec![9];
        assert_eq!(platform.route(0, 1, &mut links), Ok(0.75));
        assert_eq!(links, [9, 1, 0]);
        assert_eq!(platform.route(1, 2, &mut links), Err(NoRoute { from: 1, to: 2 }));
    }
}
