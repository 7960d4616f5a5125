//! Tests of the data structures that the tests of the package do not cover.
use super::*;

fn member(parent: u32, shares: f64, user: bool) -> Member {
    Member { parent, shares: Shares::Number(shares), user }
}

/// An account with two users, and a third at the root.
fn tree() -> AccountTree {
    AccountTree::new(&[
        member(0, 1.0, false),
        member(1, 1.0, true),
        member(1, 3.0, true),
        member(0, 1.0, true),
    ])
    .expect("a tree")
}

#[test]
fn members_without_a_sound_parent_or_share_are_refused() {
    assert_eq!(AccountTree::new(&[member(1, 1.0, true)]), Err(TreeDefect::Order(1)));
    assert_eq!(AccountTree::new(&[member(0, 1.0, true), member(1, 1.0, true)]), Err(TreeDefect::Parent(2)));
    assert_eq!(AccountTree::new(&[member(0, -1.0, true)]), Err(TreeDefect::Shares(1)));
    assert_eq!(AccountTree::new(&[member(0, f64::NAN, true)]), Err(TreeDefect::Shares(1)));
}

#[test]
fn an_account_that_is_passed_through_has_its_members_among_its_siblings() {
    let passed = Member { parent: 0, shares: Shares::Parent, user: false };
    let tree = AccountTree::new(&[passed, member(1, 1.0, true), member(0, 3.0, true)]).expect("a tree");
    assert_eq!(tree.children(0), [2, 3]);
    assert_eq!((tree.portion(2), tree.portion(3)), (0.25, 0.75));
    assert_eq!(tree.path(2).collect::<Vec<_>>(), [2, 1, 0]);
}

#[test]
fn nothing_is_left_of_the_rate_when_all_jobs_have_ended() {
    let tree = tree();
    let mut usage = Usage::Exact(DecayedUsage::new(&tree, Decay::Never));
    let charges = [0.1, 0.2, 0.3].map(|rate| Charge { node: 2, rate, start: 1.0 });
    for charge in charges {
        usage.start(&tree, charge);
    }
    for charge in charges {
        usage.end(&tree, charge, 2.0);
    }
    assert_eq!(usage.all(2.0), usage.all(1e9));
}

#[test]
fn steps_of_decay_in_closed_form_are_those_one_after_the_other() {
    let decay = Decay::Steps { factor: 0.5, period: 10.0, origin: 0.0 };
    let mut value = decay.carry(7.0, 2.0, 3.0, 10.0);
    for (since, until) in [(10.0, 20.0), (20.0, 30.0), (30.0, 40.0), (40.0, 44.0)] {
        value = decay.carry(value, 2.0, since, until);
    }
    let at_once = decay.carry(7.0, 2.0, 3.0, 44.0);
    assert!((at_once - value).abs() < 1e-12, "{at_once} {value}");
}

#[test]
fn windows_move_with_time_and_share_out_what_runs_through_them() {
    let tree = tree();
    let mut windows = Windows::new(&tree, 10.0, 3);
    windows.change(&tree, 2, 5.0, 2.0);
    assert_eq!(windows.at(0, 25.0), [10.0, 20.0, 10.0]);
    windows.change(&tree, 2, 25.0, -2.0);
    assert_eq!(windows.at(2, 35.0), [0.0, 10.0, 20.0]);
    assert_eq!(windows.at(2, 1e6), [0.0; 3]);
    assert_eq!(windows.at(3, 35.0), [0.0; 3]);
}

#[test]
fn usage_is_the_same_after_it_was_written_and_read() {
    let tree = tree();
    let mut usage = Usage::Slurm(PeriodicUsage::new(&tree, 300.0, 0.0));
    usage.start(&tree, Charge { node: 2, rate: 4.0, start: 7.0 });
    usage.pass(&tree, 60.0);
    usage.start(&tree, Charge { node: 3, rate: 1.0, start: 61.0 });
    let bytes = postcard::to_stdvec(&usage).expect("bytes");
    let mut read: Usage = postcard::from_bytes(&bytes).expect("usage");
    assert_eq!(read, usage);
    read.end(&tree, Charge { node: 3, rate: 1.0, start: 61.0 }, 90.0);
    assert!(read.all(90.0)[3] > usage.all(90.0)[3]);
}

#[test]
fn a_deep_tree_is_ranked_without_deep_calls() {
    let mut members: Vec<Member> = (0..200_000).map(|parent| member(parent, 1.0, false)).collect();
    members.push(member(200_000, 1.0, true));
    let tree = AccountTree::new(&members).expect("a tree");
    let usage = vec![1.0; 200_002];
    let standing = FairShareRule::FairTree.standing(&tree, &usage);
    assert!((standing.factor[200_001] - 1.0).abs() < 1e-15);
}
