//! Routes of small platforms, written by hand; `tests/oracles` compares larger ones with `SimGrid`.
use super::*;

fn host(name: &str) -> Host {
    Host { name: name.to_owned(), speed: 1e9, cores: 1, ..Host::default() }
}

fn link(name: &str, latency: f64) -> Link {
    Link { name: name.to_owned(), bandwidth: 1e9, latency, sharing: Sharing::Shared }
}

fn cluster(hosts: u32, topology: Topology) -> Cluster {
    Cluster {
        name: "c".to_owned(),
        prefix: "n".to_owned(),
        suffix: String::new(),
        numbers: (0..hosts).collect(),
        host: host(""),
        targets: None,
        bandwidth: 1e9,
        latency: 1e-6,
        duplex: Duplex::Split,
        topology,
        loopback: None,
        limiter: None,
        router: None,
    }
}

fn only(cluster: &Cluster) -> Platform {
    let mut builder = Builder::new();
    cluster.build(None, &mut builder).unwrap();
    builder.finish().unwrap()
}

fn names(platform: &Platform, from: u32, to: u32) -> Vec<&str> {
    let mut links = Vec::new();
    platform.route(from, to, &mut links).unwrap();
    links.iter().map(|&link| platform.links()[link as usize].name.as_str()).collect()
}

fn names_of(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn route(source: &str, target: &str, links: &str, gateways: (Option<&str>, Option<&str>)) -> RouteNames {
    let gateways = (gateways.0.map(str::to_owned), gateways.1.map(str::to_owned));
    let (source, target) = (source.to_owned(), target.to_owned());
    RouteNames { source, target, links: names_of(links), gateways, symmetrical: true }
}

#[test]
fn given_routes_are_taken_both_ways() {
    let mut builder = Builder::new();
    let zone = builder.zone(None, "all", Rule::Full).unwrap();
    for name in ["a", "b", "c"] {
        builder.host(zone, host(name), None).unwrap();
    }
    builder.link(link("x", 0.5)).unwrap();
    builder.cable("y", 1e9, 0.25).unwrap();
    builder.route(zone, &route("a", "b", "x y_UP", (None, None))).unwrap();
    assert_eq!(
        builder.route(zone, &route("b", "a", "x", (None, None))),
        Err(Refusal::RouteTwice { reverse: false })
    );
    let platform = builder.finish().unwrap();
    assert_eq!(names(&platform, 0, 1), ["x", "y_UP"]);
    assert_eq!(names(&platform, 1, 0), ["y_DOWN", "x"]);
    let mut links = vec![9];
    assert_eq!(platform.route(0, 1, &mut links), Ok(0.75));
    assert_eq!(links, [9, 0, 1]);
    assert_eq!(platform.route(1, 2, &mut links), Err(NoRoute { from: 1, to: 2 }));
    assert_eq!(links, [9, 0, 1]);
}

#[test]
fn routes_lead_through_gateways_of_nested_zones() {
    let mut builder = Builder::new();
    let all = builder.zone(None, "all", Rule::Full).unwrap();
    cluster(2, Topology::Crossbar(None)).build(Some(all), &mut builder).unwrap();
    let outer = builder.zone(Some(all), "outer", Rule::Full).unwrap();
    let inner = builder.zone(Some(outer), "inner", Rule::Full).unwrap();
    builder.host(inner, host("far"), None).unwrap();
    builder.router(outer, "door").unwrap();
    builder.link(link("bridge", 1.0)).unwrap();
    builder.link(link("corridor", 2.0)).unwrap();
    builder.route(outer, &route("door", "inner", "corridor", (None, Some("far")))).unwrap();
    builder.route(all, &route("c", "outer", "bridge", (Some("nc_router"), Some("door")))).unwrap();
    let platform = builder.finish().unwrap();
    assert_eq!(names(&platform, 0, 2), ["c_link_0_UP", "bridge", "corridor"]);
    assert_eq!(names(&platform, 2, 1), ["corridor", "bridge", "c_link_1_DOWN"]);
    // First the route between the zones, then up to the gateway, then down from the other gateway.
    let mut links = Vec::new();
    assert_eq!(platform.route(0, 2, &mut links), Ok(1.0 + 1e-6 + 2.0));
}

#[test]
fn crossbars_cross_backbone_limiters_and_loopbacks() {
    let backbone = Backbone { bandwidth: 1e9, latency: 1e-6, sharing: Sharing::FatPipe };
    let mut described = cluster(2, Topology::Crossbar(Some(backbone)));
    described.limiter = Some(5e8);
    let through = ["c_link_0_limiter", "c_link_0_UP", "c_backbone", "c_link_1_DOWN", "c_link_1_limiter"];
    assert_eq!(names(&only(&described), 0, 1), through);
    described.loopback = Some((1e10, 0.0));
    assert_eq!(names(&only(&described), 1, 1), ["c_link_1_loopback"]);
    described.duplex = Duplex::One(Sharing::Shared);
    described.loopback = None;
    assert_eq!(names(&only(&described), 0, 0), ["c_link_0_limiter", "c_link_0", "c_backbone"]);
}

fn torus(dimensions: Vec<u32>, bandwidths: Option<Vec<f64>>) -> Topology {
    Topology::Torus(TorusShape { dimensions, bandwidths, cables: None, hosts: 1, host_link: None })
}

#[test]
fn several_hosts_share_a_router_of_a_torus() {
    let shape = TorusShape {
        dimensions: vec![4, 2],
        bandwidths: None,
        cables: Some(vec![2, 1]),
        hosts: 2,
        host_link: Some((5e9, 1e-6)),
    };
    let torus = only(&cluster(16, Topology::Torus(shape)));
    assert_eq!(names(&torus, 0, 1), ["c_link_0_UP", "c_link_1_DOWN"]);
    assert_eq!(
        names(&torus, 1, 4),
        ["c_link_1_UP", "c_link_from_0_to_1_UP", "c_link_from_1_to_2_UP", "c_link_4_DOWN"]
    );
    let of = |name: &str| torus.links().iter().find(|link| link.name == name).map(|link| link.bandwidth);
    let (along, across) = (of("c_link_from_0_to_1_UP"), of("c_link_from_0_to_4_UP"));
    assert_eq!(along, across.map(|bandwidth| 2.0 * bandwidth));
}

#[test]
fn tori_go_the_shorter_way_round() {
    let torus = only(&cluster(12, torus(vec![4, 3], None)));
    assert_eq!(names(&torus, 0, 1), ["c_link_from_0_to_1_UP"]);
    assert_eq!(names(&torus, 0, 3), ["c_link_from_3_to_0_DOWN"]);
    assert_eq!(
        names(&torus, 0, 6),
        ["c_link_from_0_to_1_UP", "c_link_from_1_to_2_UP", "c_link_from_2_to_6_UP"]
    );
    assert_eq!(names(&torus, 0, 8), ["c_link_from_8_to_0_DOWN"]);
}

#[test]
fn bandwidths_of_a_torus_may_differ_by_dimension() {
    let torus = only(&cluster(4, torus(vec![2, 1, 2], Some(vec![1.0, 2.0, 3.0]))));
    let of = |name: &str| torus.links().iter().find(|link| link.name == name).map(|link| link.bandwidth);
    assert_eq!(of("c_link_from_0_to_1_UP"), Some(1.0));
    assert_eq!(of("c_link_from_1_to_3_DOWN"), Some(3.0));
    assert_eq!(torus.links().len(), 16);
}

#[test]
fn fat_trees_spread_by_target_and_source() {
    let shape = FatTreeShape { down: vec![4, 4], up: vec![1, 2], cables: vec![1, 2] };
    let tree = only(&cluster(16, Topology::FatTree(shape)));
    assert_eq!(names(&tree, 4, 5), ["link_from_4_30_4_UP", "link_from_5_30_5_DOWN"]);
    let through = [
        "link_from_4_30_4_UP",
        "link_from_30_27_21_UP",
        "link_from_28_27_28_DOWN",
        "link_from_14_28_14_DOWN",
    ];
    assert_eq!(names(&tree, 4, 14), through);
}

/// Two groups of two chassis of two blades with two hosts each.
fn small_dragonfly() -> Cluster {
    let shape = DragonflyShape { groups: (2, 1), chassis: (2, 3), blades: (2, 2), hosts: 2 };
    cluster(16, Topology::Dragonfly(shape))
}

#[test]
fn dragonflies_take_green_black_and_blue_cables() {
    let dragonfly = only(&small_dragonfly());
    let within_blade =
        ["local_link_from_router_0_to_node_0_0_UP", "local_link_from_router_0_to_node_1_1_DOWN"];
    assert_eq!(names(&dragonfly, 0, 1), within_blade);
    let across = [
        "local_link_from_router_2_to_node_1_5_UP",
        "green_link_in_chassis_1_between_routers_0_and_1_17_UP",
        "black_link_in_group_0_between_chassis_0_and_1_blade_1_21_DOWN",
        "blue_link_between_group_0_and_1_routers_1_and_4_24_UP",
        "local_link_from_router_4_to_node_0_8_DOWN",
    ];
    assert_eq!(names(&dragonfly, 5, 8), across);
    let bundled = dragonfly.links().iter().find(|link| link.name.starts_with("black")).unwrap();
    assert_eq!(bundled.bandwidth.to_bits(), 3e9_f64.to_bits());
}

#[test]
fn dragonflies_go_on_from_the_first_chassis_after_a_green_cable() {
    let dragonfly = only(&small_dragonfly());
    let through = [
        "local_link_from_router_2_to_node_0_4_UP",
        "green_link_in_chassis_1_between_routers_0_and_1_17_UP",
        "black_link_in_group_0_between_chassis_0_and_1_blade_1_21_UP",
        "local_link_from_router_3_to_node_0_6_DOWN",
    ];
    assert_eq!(names(&dragonfly, 4, 6), through);
}

#[test]
fn limiters_of_switches_are_crossed_and_numbered_downwards() {
    let mut described = small_dragonfly();
    described.limiter = Some(1e9);
    let through = names(&only(&described), 0, 1).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let limiters = ["c_link_0_limiter", "c_link_31_limiter", "c_link_1_limiter"];
    assert_eq!([&through[0], &through[2], &through[4]], limiters);
}

#[test]
fn graphs_take_the_fewest_links() {
    for rule in [Rule::Dijkstra, Rule::Floyd] {
        let mut builder = Builder::new();
        let zone = builder.zone(None, "all", rule).unwrap();
        for name in ["a", "b", "c", "d", "alone"] {
            builder.host(zone, host(name), None).unwrap();
        }
        for (name, ends) in [("ab", ("a", "b")), ("bc", ("b", "c")), ("cd", ("c", "d")), ("da", ("d", "a"))] {
            builder.cable(name, 1e9, 0.5).unwrap();
            builder.route(zone, &route(ends.0, ends.1, &format!("{name}_UP"), (None, None))).unwrap();
        }
        let platform = builder.finish().unwrap();
        assert_eq!(names(&platform, 0, 2), ["ab_UP", "bc_UP"]);
        assert_eq!(names(&platform, 0, 3), ["da_DOWN"]);
        assert!(names(&platform, 1, 1).is_empty());
        assert_eq!(platform.route(0, 4, &mut Vec::new()), Err(NoRoute { from: 0, to: 4 }));
    }
}

#[test]
fn storage_traffic_goes_to_all_storage_unless_told() {
    let mut builder = Builder::new();
    let zone = builder.zone(None, "all", Rule::Full).unwrap();
    for name in ["s", "t"] {
        builder.host(zone, Host { role: Role::Storage, ..host(name) }, None).unwrap();
    }
    builder.host(zone, host("a"), None).unwrap();
    builder.host(zone, host("b"), Some(names_of("t"))).unwrap();
    let platform = builder.finish().unwrap();
    let targets: Vec<_> = platform.hosts().iter().map(|host| host.storage_targets.clone()).collect();
    assert_eq!(targets, [vec![], vec![], vec![0, 1], vec![1]]);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let tree = FatTreeShape { down: vec![4, 4], up: vec![1, 2], cables: vec![1, 2] };
    let mut builder = Builder::new();
    let refusal = cluster(15, Topology::FatTree(tree)).build(None, &mut builder);
    assert_eq!(refusal, Err(Refusal::Hosts { needed: 16, given: 15 }));
    let huge = cluster(2, torus(vec![u32::MAX; 9], None)).build(None, &mut builder);
    assert_eq!(huge, Err(Refusal::TooLarge));
    let shape = DragonflyShape { groups: (5, 1), chassis: (2, 1), blades: (2, 1), hosts: 1 };
    let groups = cluster(20, Topology::Dragonfly(shape)).build(None, &mut builder);
    assert_eq!(groups, Err(Refusal::Groups(5)));
    let zone = builder.zone(None, "all", Rule::Full).unwrap();
    builder.host(zone, host("a"), None).unwrap();
    let twice = builder.host(zone, host("a"), None);
    assert_eq!(twice, Err(Refusal::Taken(Kind::End, "a".to_owned())));
    let nowhere = builder.route(zone, &route("a", "b", "", (None, None)));
    assert_eq!(nowhere, Err(Refusal::Unknown(Kind::End, "b".to_owned())));
}
