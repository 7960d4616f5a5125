//! Compares the index with a plain map.
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Change {
    Insert(u16, i64),
    Remove(u16),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let one = prop_oneof![
        (0..64_u16, 0..20_i64).prop_map(|(key, value)| Change::Insert(key, value)),
        (0..64_u16).prop_map(Change::Remove),
    ];
    prop::collection::vec(one, 0..200)
}

fn built<S: Summary>(changes: &[Change]) -> (OrderedIndex<u16, S>, std::collections::BTreeMap<u16, i64>) {
    let mut index = OrderedIndex::new(1);
    let mut plain = std::collections::BTreeMap::new();
    for change in changes {
        match *change {
            Change::Insert(key, value) => {
                if let std::collections::btree_map::Entry::Vacant(entry) = plain.entry(key) {
                    entry.insert(value);
                    index.insert(key, &[value]);
                }
            }
            Change::Remove(key) => assert_eq!(index.remove(&key), plain.remove(&key).is_some()),
        }
    }
    (index, plain)
}

proptest! {
    #[test]
    fn searches_agree_with_a_plain_map(changes in changes(), after in 0..64_u16, limit in 0..20_i64) {
        let (index, plain) = built::<Least>(&changes);
        prop_assert_eq!(index.len(), plain.len());
        prop_assert_eq!(index.first(), plain.keys().next().copied());
        prop_assert_eq!(index.summary().map(|s| s[0]), plain.values().min().copied());
        let found = index.first_matching(Some(&after), &|values: &[i64]| values[0] <= limit);
        let expected = plain.iter().find(|(key, value)| **key > after && **value <= limit).map(|(key, _)| *key);
        prop_assert_eq!(found, expected);
        let found = index.last_matching(Some(&after), &|values: &[i64]| values[0] <= limit);
        let expected = plain.iter().rev().find(|(key, value)| **key < after && **value <= limit);
        prop_assert_eq!(found, expected.map(|(key, _)| *key));
        let mut keys = Vec::new();
        index.visit_matching(Some(&after), &|values: &[i64]| values[0] <= limit, &mut |key| {
            keys.push(key);
            keys.len() < 5
        });
        let expected = plain.iter().filter(|(key, value)| **key > after && **value <= limit);
        prop_assert_eq!(keys, expected.take(5).map(|(key, _)| *key).collect::<Vec<_>>());
        let mut keys = Vec::new();
        index.visit(&mut |key| { keys.push(key); true });
        prop_assert_eq!(keys, plain.keys().copied().collect::<Vec<_>>());
    }

    #[test]
    fn new_keys_agree_with_a_plain_map(changes in changes(), factor in 1..64_u16, limit in 0..20_i64) {
        let (mut index, plain) = built::<Least>(&changes);
        // An odd factor permutes the keys.
        let other = |key: &u16| key.wrapping_mul(2 * factor - 1) % 64;
        index.rekey(other);
        let plain: std::collections::BTreeMap<u16, i64> = plain.iter().map(|(key, &value)| (other(key), value)).collect();
        let mut keys = Vec::new();
        index.visit(&mut |key| { keys.push(key); true });
        prop_assert_eq!(&keys, &plain.keys().copied().collect::<Vec<_>>());
        let found = index.first_matching(None, &|values: &[i64]| values[0] <= limit);
        prop_assert_eq!(found, plain.iter().find(|(_, value)| **value <= limit).map(|(key, _)| *key));
        prop_assert_eq!(index.summary().map(|s| s[0]), plain.values().min().copied());
        for (key, value) in plain {
            let found = index.first_matching(key.checked_sub(1).as_ref(), &|values: &[i64]| values[0] <= value);
            prop_assert_eq!(found, Some(key));
            prop_assert!(index.remove(&key));
        }
        prop_assert!(index.is_empty());
    }

    #[test]
    fn prefixes_agree_with_a_plain_map(changes in changes(), until in 0..64_u16, goal in 0..200_i64) {
        let (index, plain) = built::<Sum>(&changes);
        let mut joined = [0];
        index.join_prefix(&mut joined, &|key| *key <= until);
        prop_assert_eq!(joined[0], plain.range(..=until).map(|(_, value)| value).sum::<i64>());
        let found = index.first_prefix(&mut [0], &|sum: &[i64]| sum[0] >= goal);
        let mut sum = 0;
        let expected = plain.iter().find(|(_, value)| { sum += **value; sum >= goal }).map(|(key, _)| *key);
        prop_assert_eq!(found, expected);
    }
}

/// An index can be serialised and deserialised, as needed for snapshots.
#[test]
fn indices_are_data() {
    fn is_data<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    is_data::<OrderedIndex<(u64, u32), Sum>>();
    is_data::<crate::index::segment_tree::SegmentTree>();
}
