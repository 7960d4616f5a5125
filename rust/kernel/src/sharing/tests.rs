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
