//! Dragonflies like the Cray XC, with the minimal routing of `SimGrid` 3.34.
//!
//! A group has chassis, a chassis has blades, a blade has one router and some hosts. The blades of a chassis are
//! connected all to all (green), and so are the blades of the same number in the chassis of a group (black), and the
//! groups (blue). The router number g of a group has the cable to group g. O(1) per route.
//!
//! After a green cable, `SimGrid` continues from the first chassis, whatever the chassis was before; routes within a
//! group may therefore have one black cable too many or too few. This is reproduced, since results are compared with
//! `SimGrid`.
use super::cables::{Cables, Extras};
use super::path::Path;

/// The parameters of a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyShape {
    /// Number of groups, and of cables between each two of them.
    pub groups: (u32, u32),
    /// Number of chassis per group, and of cables between blades of two of them.
    pub chassis: (u32, u32),
    /// Number of blades per chassis, and of cables between each two of them.
    pub blades: (u32, u32),
    /// Hosts per blade.
    pub hosts: u32,
}

/// A dragonfly.
#[derive(Debug)]
pub struct Dragonfly {
    shape: DragonflyShape,
    cables: Cables,
    extras: Extras,
}

/// The position of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Router {
    group: u32,
    chassis: u32,
    blade: u32,
}

/// The number of pairs of `count` elements.
fn pairs(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// The number of a pair in the order (0, 1), (0, 2) ... (1, 2) ...
fn pair(count: u32, one: u32, other: u32) -> u32 {
    let (low, high) = (one.min(other), one.max(other));
    low * (2 * count - low - 1) / 2 + high - low - 1
}

impl DragonflyShape {
    fn routers_per_group(&self) -> u64 {
        u64::from(self.chassis.0) * u64::from(self.blades.0)
    }

    /// The number of routers.
    #[must_use]
    pub fn routers(&self) -> u64 {
        self.routers_per_group().saturating_mul(u64::from(self.groups.0))
    }

    /// The numbers of hosts and cables; None if too large to count.
    #[must_use]
    pub fn sizes(&self) -> Option<(u64, u64)> {
        let hosts = self.routers().checked_mul(u64::from(self.hosts))?;
        let [groups, chassis, blades] = [self.groups.0, self.chassis.0, self.blades.0].map(u64::from);
        let green = (groups * chassis).checked_mul(pairs(blades))?;
        let black = groups.checked_mul(pairs(chassis))?.checked_mul(blades)?;
        Some((hosts, hosts.checked_add(green)?.checked_add(black)?.checked_add(pairs(groups))?))
    }

    /// Returns whether every group has a router for the cable to each other group.
    #[must_use]
    pub fn reaches_all_groups(&self) -> bool {
        u64::from(self.groups.0) <= self.routers_per_group()
    }
}

impl Dragonfly {
    /// Creates the dragonfly of a shape with countable hosts and cables.
    pub fn new(shape: DragonflyShape, cables: Cables, extras: Extras) -> Self {
        Self { shape, cables, extras }
    }

    /// The names of the cables in order, and the number of bundled cables in each; numbering continues at `first`.
    pub fn cable_names(&self, first: u32) -> Vec<(String, u32)> {
        let DragonflyShape { groups, chassis, blades, hosts } = self.shape;
        let per_group = chassis.0 * blades.0;
        let mut names: Vec<(String, u32)> = Vec::new();
        let mut name = |text: String, bundled: u32| {
            names.push((format!("{text}_{}", first as usize + names.len()), bundled));
        };
        for router in 0..groups.0 * per_group {
            (0..hosts).for_each(|host| name(format!("local_link_from_router_{router}_to_node_{host}"), 1));
        }
        for number in (0..groups.0 * chassis.0).map(|number| number % chassis.0) {
            for (one, other) in each_pair(blades.0) {
                name(format!("green_link_in_chassis_{number}_between_routers_{one}_and_{other}"), blades.1);
            }
        }
        for group in 0..groups.0 {
            for (one, other) in each_pair(chassis.0) {
                for blade in 0..blades.0 {
                    let between = format!("between_chassis_{one}_and_{other}_blade_{blade}");
                    name(format!("black_link_in_group_{group}_{between}"), chassis.1);
                }
            }
        }
        for (one, other) in each_pair(groups.0) {
            let routers = (one * per_group + other, other * per_group + one);
            let ends = format!("group_{one}_and_{other}_routers_{}_and_{}", routers.0, routers.1);
            name(format!("blue_link_between_{ends}"), groups.1);
        }
        names
    }

    /// Adds the route from one host to another to the path.
    pub fn route(&self, from: u32, to: u32, path: &mut Path<'_>) {
        if from == to && self.extras.stay(from, path) {
            return;
        }
        let target = self.router_of(to);
        self.extras.limit(from, path);
        path.push(self.cables.up(from));
        if self.router_of(from) != target {
            self.between(self.router_of(from), target, path);
        }
        self.limit_router(target, path);
        path.push(self.cables.down(to));
        self.extras.limit(to, path);
    }

    /// Adds the route from one router to another to the path.
    fn between(&self, source: Router, target: Router, path: &mut Path<'_>) {
        let mut here = source;
        if here.group != target.group {
            here = self.to_group(here, target.group, path);
        }
        if here.blade != target.blade {
            self.limit_router(here, path);
            self.green(here, target.blade, path);
            here = Router { chassis: 0, ..target };
        }
        if here.chassis != target.chassis {
            self.limit_router(here, path);
            self.black(here, target.chassis, path);
        }
    }

    /// Moves to the router of another group that has the cable from this group.
    fn to_group(&self, mut here: Router, group: u32, path: &mut Path<'_>) -> Router {
        let exit = self.gateway(here.group, group);
        if here.blade != exit.blade {
            self.limit_router(here, path);
            self.green(here, exit.blade, path);
            here.blade = exit.blade;
        }
        if here.chassis != exit.chassis {
            self.limit_router(here, path);
            self.black(here, exit.chassis, path);
        }
        path.push(
            self.way(self.first_blue() + pair(self.shape.groups.0, exit.group, group), exit.group < group),
        );
        self.limit_router(exit, path);
        self.gateway(group, exit.group)
    }

    /// The router of a group that has the cable to another group.
    fn gateway(&self, group: u32, other: u32) -> Router {
        Router { group, chassis: other / self.shape.blades.0, blade: other % self.shape.blades.0 }
    }

    fn green(&self, here: Router, blade: u32, path: &mut Path<'_>) {
        let blades = self.shape.blades.0;
        let chassis = here.group * self.shape.chassis.0 + here.chassis;
        let cable = self.first_green() + chassis * pair_count(blades) + pair(blades, here.blade, blade);
        path.push(self.way(cable, here.blade < blade));
    }

    fn black(&self, here: Router, chassis: u32, path: &mut Path<'_>) {
        let (count, blades) = (self.shape.chassis.0, self.shape.blades.0);
        let pair = here.group * pair_count(count) + pair(count, here.chassis, chassis);
        path.push(self.way(self.first_black() + pair * blades + here.blade, here.chassis < chassis));
    }

    fn way(&self, cable: u32, forth: bool) -> u32 {
        if forth { self.cables.up(cable) } else { self.cables.down(cable) }
    }

    fn routers(&self) -> u32 {
        self.shape.groups.0 * self.shape.chassis.0 * self.shape.blades.0
    }

    fn first_green(&self) -> u32 {
        self.routers() * self.shape.hosts
    }

    fn first_black(&self) -> u32 {
        self.first_green() + self.shape.groups.0 * self.shape.chassis.0 * pair_count(self.shape.blades.0)
    }

    fn first_blue(&self) -> u32 {
        self.first_black() + self.shape.groups.0 * pair_count(self.shape.chassis.0) * self.shape.blades.0
    }

    fn router_of(&self, host: u32) -> Router {
        let number = host / self.shape.hosts;
        let (chassis, blade) = (number / self.shape.blades.0, number % self.shape.blades.0);
        Router { group: chassis / self.shape.chassis.0, chassis: chassis % self.shape.chassis.0, blade }
    }

    fn limit_router(&self, router: Router, path: &mut Path<'_>) {
        let chassis = router.group * self.shape.chassis.0 + router.chassis;
        let number = chassis * self.shape.blades.0 + router.blade;
        self.extras.limit(self.routers() * self.shape.hosts + number, path);
    }
}

fn pair_count(count: u32) -> u32 {
    count * count.saturating_sub(1) / 2
}

/// The pairs of `count` elements, in the order of their numbers.
fn each_pair(count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}
