use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;
use crate::platform::Sharing;

fn link(capacity: f64) -> Resource {
    Resource { capacity, sharing: Sharing::Shared }
}

fn ends(activities: &mut Activities) -> Vec<(u64, f64)> {
    let mut ends = Vec::new();
    loop {
        let now = activities.next_time();
        if now.is_infinite() {
            return ends;
        }
        while let Some(tag) = activities.pop_finished(now) {
            ends.push((tag, now));
        }
    }
}

#[test]
fn two_flows_share_a_link_and_the_rest_is_faster() {
    for rule in [Rule::MaxMin, Rule::Rates, Rule::FairBottleneck] {
        let mut activities = Activities::new(rule, vec![link(10.0), link(4.0)]);
        activities.start(0.0, &Demand { amount: 20.0, uses: &[(0, 1.0)], ..Demand::default() }, 1);
        activities.start(0.0, &Demand { amount: 40.0, uses: &[(0, 1.0), (1, 1.0)], ..Demand::default() }, 2);
        assert_eq!(ends(&mut activities), [(1, 20.0 / 6.0), (2, 10.0)], "{rule:?}");
    }
}

#[test]
fn latency_delays_and_nothing_takes_no_time() {
    let mut activities = Activities::new(Rule::MaxMin, vec![link(1.0)]);
    activities.start(0.0, &Demand { amount: 1.0, uses: &[(0, 1.0)], latency: 2.0, ..Demand::default() }, 1);
    activities.start(0.0, &Demand { amount: 0.0, uses: &[(0, 1.0)], latency: 1.0, ..Demand::default() }, 2);
    activities.start(0.0, &Demand { uses: &[(0, 1.0)], ..Demand::default() }, 3);
    assert_eq!(ends(&mut activities), [(3, 0.0), (2, 1.0), (1, 3.0)]);
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

fn rates(rule: Rule, capacities: &[f64], mix: &Mix) -> Vec<f64> {
    let mut activities = Activities::new(rule, capacities.iter().map(|&capacity| link(capacity)).collect());
    let mut handles = Vec::new();
    for (uses, bound, penalty) in mix {
        let demand = Demand { amount: 1.0, uses, bound: *bound, penalty: *penalty, latency: 0.0 };
        handles.push(activities.start(0.0, &demand, 0));
    }
    handles.into_iter().map(|handle| activities.rate(handle)).collect()
}

/// Nobody takes more than there is, and everybody is at the bound or takes most of a resource that is full.
fn assert_fair(
    capacities: &[f64],
    mix: &Mix,
    rates: &[f64],
    share: impl Fn(f64, f64) -> f64,
) -> Result<(), TestCaseError> {
    let mut load = vec![0.0; capacities.len()];
    let mut most = vec![0.0_f64; capacities.len()];
    for ((uses, _, penalty), &rate) in mix.iter().zip(rates) {
        for &(at, weight) in uses {
            load[at as usize] += weight * rate;
            most[at as usize] = most[at as usize].max(share(weight, rate) * penalty);
        }
    }
    for (load, capacity) in load.iter().zip(capacities) {
        prop_assert!(*load <= capacity * (1.0 + 1e-9));
    }
    for ((uses, bound, penalty), &rate) in mix.iter().zip(rates) {
        let bottleneck = |&(at, weight): &(u32, f64)| {
            let at = at as usize;
            load[at] >= capacities[at] * (1.0 - 1e-9)
                && share(weight, rate) * penalty >= most[at] * (1.0 - 1e-9)
        };
        prop_assert!(rate >= bound * (1.0 - 1e-9) || uses.iter().any(bottleneck), "{rates:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn everybody_has_a_bottleneck((capacities, mix) in mix(false)) {
        assert_fair(&capacities, &mix, &rates(Rule::MaxMin, &capacities, &mix), |weight, rate| weight * rate)?;
    }

    #[test]
    fn rates_are_max_min_fair((capacities, mix) in mix(false)) {
        assert_fair(&capacities, &mix, &rates(Rule::Rates, &capacities, &mix), |_, rate| rate)?;
    }

    #[test]
    fn flows_are_max_min_fair((capacities, mix) in mix(true)) {
        assert_fair(&capacities, &mix, &rates(Rule::MaxMin, &capacities, &mix), |weight, rate| weight * rate)?;
    }
}
