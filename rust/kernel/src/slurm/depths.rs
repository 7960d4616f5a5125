//! Maximum numbers of entries that a backfill cycle examines for each partition, user and association
//! (`_job_exceeds_max_bf_param`).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controller_input::Entry;

/// Maximum numbers of entries to examine; 0 for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depths {
    /// `bf_max_job_part`: for each partition.
    pub of_partition: usize,
    /// `bf_max_job_user`: for each user.
    pub of_user: usize,
    /// `bf_max_job_user_part`: for each user in each partition.
    pub of_user_in_partition: usize,
    /// `bf_max_job_assoc`: for each association.
    pub of_association: usize,
}

impl Depths {
    /// Return whether some entries may be skipped while later ones are examined.
    #[must_use]
    pub fn leave_some_out(&self) -> bool {
        *self != Self::default()
    }
}

/// A group in which entries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Group {
    Partition(usize),
    User(u32),
    UserInPartition(u32, usize),
    Association(u32),
}

/// Number of examined entries in each group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Looked {
    counts: BTreeMap<Group, usize>,
}

impl Looked {
    /// Count an entry in all of its groups. Return false, and do not count it, if the maximum of one of them is
    /// reached. O(log groups).
    pub fn admits(&mut self, depths: &Depths, entry: &Entry) -> bool {
        let (partition, owner) = (entry.partition, entry.owner);
        let groups = [
            (depths.of_partition, Some(Group::Partition(partition))),
            (depths.of_user, owner.user.map(Group::User)),
            (depths.of_user_in_partition, owner.user.map(|user| Group::UserInPartition(user, partition))),
            (depths.of_association, owner.association.map(Group::Association)),
        ];
        let counted =
            || groups.into_iter().filter_map(|(most, group)| Some((most, group?))).filter(|each| each.0 > 0);
        let count_of = |group: Group| self.counts.get(&group).copied().unwrap_or(0);
        if counted().any(|(most, group)| count_of(group) >= most) {
            return false;
        }
        for (_, group) in counted() {
            *self.counts.entry(group).or_default() += 1;
        }
        true
    }
}
