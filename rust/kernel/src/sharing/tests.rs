use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;
use crate::platform::{Host, Link, NoRoute, Platform, Sharing};
use crate::time::FineTime;

fn link(capacity: f64) -> Resource {
    Resource { capacity, sharing: Sharing::Shared }
}

fn ends(activities: &mut Activities) -> Vec<(u64, f64)> {
    let mut ends = Vec::new();
    loop {
        let now = activities.next_time();
        if now == FineTime::NEVER {
            return ends;
        }
        while let Some(tag) = activities.pop_finished(now) {
            ends.push((tag, now.rounded()));
        }
    }
}

#[test]
fn two_flows_share_a_link_and_the_rest_is_faster() {
    for rule in [Rule::MaxMin, Rule::Rates, Rule::FairBottleneck] {
        let mut activities = Activities::new(rule, vec![link(10.0), link(4.0)]);
        activities.start(
            FineTime::default(),
            &Demand { amount: 20.0, uses: &[(0, 1.0)], ..Demand::default() },
            1,
        );
        activities.start(
            FineTime::default(),
            &Demand { amount: 40.0, uses: &[(0, 1.0), (1, 1.0)], ..Demand::default() },
            2,
        );
        assert_eq!(ends(&mut activities), [(1, 20.0 / 6.0), (2, 10.0)], "{rule:?}");
    }
}

#[test]
fn latency_delays_and_nothing_takes_no_time() {
    let mut activities = Activities::new(Rule::MaxMin, vec![link(1.0)]);
    activities.start(
        FineTime::default(),
        &Demand { amount: 1.0, uses: &[(0, 1.0)], latency: 2.0, ..Demand::default() },
        1,
    );
    activities.start(
        FineTime::default(),
        &Demand { amount: 0.0, uses: &[(0, 1.0)], latency: 1.0, ..Demand::default() },
        2,
    );
    activities.start(FineTime::default(), &Demand { uses: &[(0, 1.0)], ..Demand::default() }, 3);
    assert_eq!(ends(&mut activities), [(3, 0.0), (2, 1.0), (1, 3.0)]);
}

#[test]
fn where_there_is_nothing_to_have_nothing_ends() {
    for rule in [Rule::MaxMin, Rule::Rates, Rule::FairBottleneck] {
        let mut activities = Activities::new(rule, vec![link(0.0), link(4.0)]);
        let stuck = activities.start(
            FineTime::default(),
            &Demand { amount: 1.0, uses: &[(0, 1.0), (1, 2.0)], ..Demand::default() },
            1,
        );
        activities.start(
            FineTime::default(),
            &Demand { amount: 1.0, uses: &[(0, 2.0), (1, 1.0)], ..Demand::default() },
            2,
        );
        activities.start(
            FineTime::default(),
            &Demand { amount: 4.0, uses: &[(1, 1.0)], ..Demand::default() },
            3,
        );
        assert_eq!(activities.rate(stuck), 0.0, "{rule:?}");
        assert_eq!(ends(&mut activities), [(3, 1.0)], "{rule:?}");
    }
}

#[test]
fn a_fat_pipe_that_hardly_gets_emptier_gives_what_one_activity_can_have() {
    let fat = Resource { capacity: 8e8, sharing: Sharing::FatPipe };
    let mut activities = Activities::new(Rule::FairBottleneck, vec![fat, link(3e8), link(1e8)]);
    let mut start = |uses: &[(u32, f64)]| {
        activities.start(FineTime::default(), &Demand { amount: 1.0, uses, ..Demand::default() }, 0)
    };
    start(&[(0, 2.0), (1, 3.0), (2, 3.0)]);
    start(&[(1, 3.0), (2, 1.0)]);
    start(&[(0, 2.0), (1, 3.0)]);
    let alone = start(&[(0, 1.0)]);
    // The others leave with very small last steps, which still empty the pipe in each later round.
    assert_eq!(activities.rate(alone), 8e8);
}

/// Platforms of three hosts: two links, one of them a fat pipe, and a return route.
fn three_hosts() -> Platform {
    let host = |name: &str| Host { name: name.to_owned(), speed: 1e9, ..Host::default() };
    let link = |name: &str, latency: f64, sharing: Sharing| Link {
        name: name.to_owned(),
        bandwidth: 1e8,
        latency,
        sharing,
    };
    let links = vec![link("wire", 0.5, Sharing::Shared), link("pipe", 0.25, Sharing::FatPipe)];
    let routes = [((0, 1), vec![0]), ((1, 0), vec![0]), ((0, 2), vec![0, 1]), ((2, 0), vec![1])];
    Platform::of_routes(["a", "b", "c"].map(host).to_vec(), links, routes.into_iter().collect())
}

fn network(name: &str) -> Network {
    Network::named(name).expect("there is such a model")
}

#[test]
fn a_task_adds_its_messages_up_link_by_link() {
    let (platform, mut builder) = (three_hosts(), DemandBuilder::default());
    let bytes = [0.0, 3.0, 5.0, 7.0, 0.0, 0.0, 11.0, 0.0, 0.0];
    let network = Network { window: 2.0, ..network("max_min") };
    builder
        .parallel_task(&platform, &network, &[0, 1, 2], &[2e9, 0.0, 1e9], &bytes)
        .expect("there are routes");
    let demand = builder.demand();
    assert_eq!(demand.uses, [(2, 2e9), (4, 1e9), (0, 15.0), (1, 11.0)]);
    assert_eq!((demand.amount, demand.latency), (1.0, 0.75));
    // 2 / (2 · 0.75 · 5), for the message with the longest route and the most bytes.
    assert_eq!(demand.bound, 2.0 / (2.0 * 3.75));
}

#[test]
fn a_single_message_is_a_flow() {
    let (platform, mut task, mut flow) = (three_hosts(), DemandBuilder::default(), DemandBuilder::default());
    for name in ["max_min", "fair_bottleneck", "bottleneck_max_min"] {
        for (to, bytes) in [(2, 7.0), (0, 5.0)] {
            let network = network(name);
            let mut matrix = [0.0; 9];
            matrix[to as usize] = bytes;
            task.parallel_task(&platform, &network, &[0, 1, 2], &[], &matrix).expect("there is a route");
            flow.flow(&platform, &network, (0, to), bytes).expect("there is a route");
            assert_eq!(format!("{:?}", task.demand()), format!("{:?}", flow.demand()));
        }
    }
}

#[test]
fn a_bundle_shares_links_as_its_messages_would() {
    let (platform, network) = (three_hosts(), network("max_min"));
    let mut bundle = BundleBuilder::default();
    let messages = [(0, 1, 4.0), (0, 1, 4.0), (0, 1, 2.0)];
    bundle.make(&platform, &network, messages.into_iter()).expect("there is a route");
    let demand = bundle.demand(0.0);
    assert_eq!((demand.amount, demand.uses), (4.0, &[(0, 2.5)][..]));
    let bandwidth = platform.links()[0].bandwidth;
    let latency = platform.links()[0].latency;
    let durations: Vec<f64> = bundle.durations(&platform, &network).collect();
    assert_eq!(bundle.seconds(), 10.0 / bandwidth);
    assert_eq!(durations, [10.0, 10.0, 6.0].map(|bytes| latency + bytes / bandwidth));
    // Beside a flow: 2.5 parts of 3.5.
    let mut activities = Activities::new(network.rule, resources(&platform));
    let handle = activities.start(FineTime::default(), &demand, 0);
    let mut builder = DemandBuilder::default();
    builder.flow(&platform, &network, (0, 1), 100.0).expect("there is a route");
    activities.start(FineTime::default(), &Demand { latency: 0.0, ..builder.demand() }, 1);
    assert!((activities.rate(handle) - bandwidth / 3.5).abs() < 1e-12 * bandwidth);
    // Two bundles one after the other take twice as long, at the same rate.
    let mut sum = BundleSum::default();
    sum.begin(&platform);
    sum.add(&platform, &demand);
    sum.add(&platform, &demand);
    assert_eq!(sum.seconds(), 2.0 * bundle.seconds());
    assert_eq!((sum.demand(0.0).amount, sum.demand(0.0).uses), (8.0, &[(0, 2.5)][..]));
}

#[test]
fn acknowledgements_and_factors_are_those_of_the_model() {
    let (platform, mut builder) = (three_hosts(), DemandBuilder::default());
    let network = Network {
        bandwidth_factor: 0.5,
        latency_factor: 2.0,
        cross_traffic: true,
        loopback_bandwidth: 10.0,
        ..network("max_min")
    };
    builder.flow(&platform, &network, (0, 2), 3.0).expect("there is a route");
    let demand = builder.demand();
    assert_eq!((demand.amount, demand.latency, demand.uses), (6.0, 1.5, &[(0, 1.0), (1, 1.0)][..]));
    let mut task = builder.task(&platform, &network);
    task.send(0, 1, 3.0).expect("there is a route");
    task.send(1, 1, 4.0).expect("a host reaches itself");
    task.finish().expect("there are routes");
    let demand = builder.demand();
    assert_eq!((demand.latency, demand.uses), (1.0, &[(0, 6.0 + 0.05 * 6.0)][..]));
    assert_eq!(demand.bound, 10.0 / 8.0);
    let gone = builder.flow(&platform, &network, (1, 2), 3.0);
    assert_eq!(gone, Err(NoRoute { from: 1, to: 2 }));
}

/// Activities on few resources, each with weights, a bound and a penalty.
type Mix = Vec<(Vec<(u32, f64)>, f64, f64)>;

fn mix(even: bool) -> impl Strategy<Value = (Vec<f64>, Mix)> {
    (1..9_u32, 1..12_usize).prop_flat_map(move |(resources, activities)| {
        let weights = prop::collection::btree_map(0..resources, 0.01..1.0_f64, 1..=resources as usize);
        let uses = weights.prop_map(move |weights| {
            let first = *weights.values().next().expect("at least one");
            weights
                .into_iter()
                .map(|(at, weight)| (at, if even { first } else { weight }))
                .collect::<Vec<_>>()
        });
        let bound = prop_oneof![3 => Just(f64::INFINITY), 1 => 0.05..3.0_f64];
        let penalty = prop_oneof![2 => Just(1.0), 1 => 0.2..5.0_f64];
        (
            prop::collection::vec(0.5..10.0_f64, resources as usize),
            prop::collection::vec((uses, bound, penalty), activities),
        )
    })
}

/// The rates; `by_rate` selects the activities that are bundles.
fn rates(rule: Rule, capacities: &[f64], mix: &Mix, by_rate: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut activities = Activities::new(rule, capacities.iter().map(|&capacity| link(capacity)).collect());
    let mut handles = Vec::new();
    for (at, (uses, bound, penalty)) in mix.iter().enumerate() {
        let (bound, penalty, by_rate) = (*bound, *penalty, by_rate(at));
        let demand = Demand { amount: 1.0, uses, bound, penalty, by_rate, ..Demand::default() };
        handles.push(activities.start(FineTime::default(), &demand, 0));
    }
    handles.into_iter().map(|handle| activities.rate(handle)).collect()
}

/// Checks that no resource is overloaded, and that every activity is at its bound or uses most of a full resource.
fn assert_fair(
    capacities: &[f64],
    mix: &Mix,
    rates: &[f64],
    share: impl Fn(usize, f64, f64) -> f64,
) -> Result<(), TestCaseError> {
    let mut load = vec![0.0; capacities.len()];
    let mut most = vec![0.0_f64; capacities.len()];
    for (which, ((uses, _, penalty), &rate)) in mix.iter().zip(rates).enumerate() {
        for &(at, weight) in uses {
            load[at as usize] += weight * rate;
            most[at as usize] = most[at as usize].max(share(which, weight, rate) * penalty);
        }
    }
    for (load, capacity) in load.iter().zip(capacities) {
        prop_assert!(*load <= capacity * (1.0 + 1e-9));
    }
    for (which, ((uses, bound, penalty), &rate)) in mix.iter().zip(rates).enumerate() {
        let bottleneck = |&(at, weight): &(u32, f64)| {
            let at = at as usize;
            load[at] >= capacities[at] * (1.0 - 1e-9)
                && share(which, weight, rate) * penalty >= most[at] * (1.0 - 1e-9)
        };
        prop_assert!(rate >= bound * (1.0 - 1e-9) || uses.iter().any(bottleneck), "{rates:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn everybody_has_a_bottleneck((capacities, mix) in mix(false)) {
        let rates = rates(Rule::MaxMin, &capacities, &mix, |_| false);
        assert_fair(&capacities, &mix, &rates, |_, weight, rate| weight * rate)?;
    }

    #[test]
    fn rates_are_max_min_fair((capacities, mix) in mix(false)) {
        let rates = rates(Rule::Rates, &capacities, &mix, |_| false);
        assert_fair(&capacities, &mix, &rates, |_, _, rate| rate)?;
    }

    /// Parallel tasks compete by the amount that they use of a resource, bundles by the amount of each of their
    /// messages.
    #[test]
    fn bundles_and_tasks_are_fair_to_each_other((capacities, mix) in mix(false), every in 1..4_usize) {
        let by_rate = |which: usize| which.is_multiple_of(every);
        let rates = rates(Rule::MaxMin, &capacities, &mix, by_rate);
        assert_fair(&capacities, &mix, &rates, |which, weight, rate| {
            if by_rate(which) { rate } else { weight * rate }
        })?;
    }

    #[test]
    fn flows_are_max_min_fair((capacities, mix) in mix(true)) {
        let rates = rates(Rule::MaxMin, &capacities, &mix, |_| false);
        assert_fair(&capacities, &mix, &rates, |_, weight, rate| weight * rate)?;
    }
}

/// An action on activities: advance the time, then start or cancel one.
#[derive(Clone, Debug)]
enum Act {
    Start(Vec<(u32, f64)>, f64, f64, f64),
    Cancel(usize),
}

fn acts() -> impl Strategy<Value = Vec<(f64, Act)>> {
    prop_oneof![some_acts(true), some_acts(false)]
}

fn some_acts(even: bool) -> impl Strategy<Value = Vec<(f64, Act)>> {
    let weights = prop::collection::btree_map(0..6_u32, 0.05..1.0_f64, 1..4);
    let uses = weights.prop_map(move |weights| {
        let first = *weights.values().next().expect("at least one");
        weights.into_iter().map(|(at, weight)| (at, if even { first } else { weight })).collect::<Vec<_>>()
    });
    let bound = prop_oneof![3 => Just(f64::INFINITY), 1 => 0.05..3.0_f64];
    let latency = prop_oneof![Just(0.0), 0.0..0.5_f64];
    let start = (uses, 0.0..20.0_f64, bound, latency)
        .prop_map(|(uses, amount, bound, latency)| Act::Start(uses, amount, bound, latency));
    let act = prop_oneof![4 => start, 1 => (0..40_usize).prop_map(Act::Cancel)];
    let pause = prop_oneof![1 => Just(0.0), 2 => 0.0..2.0_f64];
    prop::collection::vec((pause, act), 1..40)
}

const RULES: [Rule; 3] = [Rule::MaxMin, Rule::Rates, Rule::FairBottleneck];

fn machine(rule: Rule) -> Activities {
    let fat = Resource { capacity: 2.0, sharing: Sharing::FatPipe };
    Activities::new(rule, vec![link(1.0), link(3.0), link(0.5), fat, link(8.0), link(2.0)])
}

/// Running activities: their tags, handles and demands.
type Running = Vec<(u64, u32, Vec<(u32, f64)>, f64)>;

/// The rates of the activities that use resources, if all are started at once, in the original order.
fn solved_anew(
    mut fresh: Activities,
    running: &Running,
    consuming: impl Fn(u32) -> Option<u64>,
) -> Vec<(u64, f64)> {
    let mut order: Vec<_> =
        running.iter().filter_map(|one| consuming(one.1).map(|order| (order, one))).collect();
    order.sort_by_key(|one| one.0);
    let handles: Vec<u32> = order
        .iter()
        .map(|(_, (tag, _, uses, bound))| {
            fresh.start(
                FineTime::default(),
                &Demand { amount: 1.0, uses, bound: *bound, ..Demand::default() },
                *tag,
            )
        })
        .collect();
    order.iter().zip(handles).map(|(one, handle)| (one.1.0, fresh.rate(handle))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn solving_what_was_touched_gives_what_solving_all_gives(acts in acts(), which in 0..3_usize) {
        let rule = RULES[which];
        let mut activities = machine(rule);
        let (mut now, mut running) = (FineTime::default(), Running::new());
        for (tag, (pause, act)) in acts.into_iter().enumerate() {
            let until = now.after(pause);
            while activities.next_time() <= until {
                now = activities.next_time();
                while let Some(done) = activities.pop_finished(now) {
                    running.retain(|one| one.0 != done);
                }
            }
            now = until;
            match act {
                Act::Start(uses, amount, bound, latency) => {
                    let demand = Demand { amount, uses: &uses, bound, latency, ..Demand::default() };
                    let handle = activities.start(now, &demand, tag as u64);
                    running.push((tag as u64, handle, uses, bound));
                }
                Act::Cancel(at) if !running.is_empty() => {
                    let one = running.swap_remove(at % running.len());
                    activities.cancel(now, one.1);
                }
                Act::Cancel(_) => {}
            }
            let expected = solved_anew(machine(rule), &running, |handle| activities.order(handle));
            let handle = |tag| running.iter().find(|one| one.0 == tag).map(|one| one.1).expect("it runs");
            for (tag, rate) in expected {
                let found = activities.rate(handle(tag));
                prop_assert!((found - rate).abs() <= 1e-12 * rate, "{found} {rate}");
            }
        }
    }

    #[test]
    fn forks_go_their_own_ways(acts in acts(), which in 0..3_usize) {
        let mut activities = machine(RULES[which]);
        for (tag, (_, act)) in acts.into_iter().enumerate() {
            if let Act::Start(uses, amount, bound, latency) = act {
                let demand = Demand { amount, uses: &uses, bound, latency, ..Demand::default() };
                activities.start(FineTime::default(), &demand, tag as u64);
            }
        }
        let mut fork = activities.clone();
        let first = ends(&mut fork);
        fork.start(FineTime::at(99.0), &Demand { amount: 1.0, uses: &[(0, 1.0)], ..Demand::default() }, 0);
        prop_assert_eq!(ends(&mut activities), first);
    }

    #[test]
    fn work_is_conserved(amounts in prop::collection::vec((0.0..9.0_f64, 0.0..5.0_f64, 0.2..5.0_f64), 1..20)) {
        for rule in RULES {
            let mut activities = Activities::new(rule, vec![link(2.0)]);
            let mut done = 0.0;
            let mut sorted = amounts.clone();
            sorted.sort_by(|one, other| one.1.total_cmp(&other.1));
            for (tag, &(amount, latency, penalty)) in sorted.iter().enumerate() {
                let demand = Demand { amount, uses: &[(0, 1.0)], latency, penalty, ..Demand::default() };
                activities.start(FineTime::default(), &demand, tag as u64);
                done = f64::max(done, latency) + amount / 2.0;
            }
            let last = ends(&mut activities).last().expect("they end").1;
            prop_assert!((last - done).abs() <= 1e-9 * done, "{last} {done}");
        }
    }
}

/// Many flows on a grid of few links, so that nearly all of them are one component.
#[derive(Clone, Debug)]
struct Crowd {
    capacities: Vec<f64>,
    /// Links, amount, bound, and the time since the previous flow.
    flows: Vec<(Vec<u32>, f64, f64, f64)>,
}

fn crowd() -> impl Strategy<Value = Crowd> {
    // Few distinct values produce many equal levels.
    let few = || prop_oneof![Just(1.0), Just(2.0), Just(3.0)];
    let crowd = |value: BoxedStrategy<f64>| {
        let bound = prop_oneof![4 => Just(f64::INFINITY), 1 => value.clone().prop_map(|value| value / 20.0)];
        let links =
            prop::collection::btree_set(0..40_u32, 1..6).prop_map(|links| links.into_iter().collect());
        let pause = prop_oneof![1 => Just(0.0), 3 => value.clone().prop_map(|value| value / 30.0)];
        let flow = (links, value.clone(), bound, pause);
        (prop::collection::vec(value, 40), prop::collection::vec(flow, 100..300))
            .prop_map(|(capacities, flows)| Crowd { capacities, flows })
    };
    prop_oneof![crowd(few().boxed()), crowd((0.5..4.0_f64).boxed())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_changes_in_a_crowd_is_what_solving_all_gives(crowd in crowd(), which in 0..2_usize) {
        let links = || crowd.capacities.iter().map(|&capacity| link(capacity)).collect::<Vec<_>>();
        let mut activities = Activities::new(RULES[which], links());
        let (mut now, mut running) = (FineTime::default(), Running::new());
        for (tag, (links_of, amount, bound, pause)) in crowd.flows.iter().enumerate() {
            let until = now.after(*pause);
            while activities.next_time() <= until {
                now = activities.next_time();
                while let Some(done) = activities.pop_finished(now) {
                    running.retain(|one| one.0 != done);
                }
            }
            now = until;
            // With the rule for rates, the amounts used of links may differ.
            let weight = |link: u32| if which == 1 && link.is_multiple_of(3) { 0.05 } else { 1.0 };
            let uses: Vec<_> = links_of.iter().map(|&link| (link, weight(link))).collect();
            let demand = Demand { amount: *amount, uses: &uses, bound: *bound, ..Demand::default() };
            let handle = activities.start(now, &demand, tag as u64);
            running.push((tag as u64, handle, uses, *bound));
            if tag % 8 == 0 {
                let fresh = Activities::new(RULES[which], links());
                let expected = solved_anew(fresh, &running, |handle| activities.order(handle));
                for (tag, rate) in expected {
                    let one = running.iter().find(|one| one.0 == tag).expect("it runs");
                    let found = activities.rate(one.1);
                    prop_assert!((found - rate).abs() <= 1e-9 * rate, "{found} {rate}");
                }
            }
        }
    }
}
