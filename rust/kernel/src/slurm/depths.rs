//! Maximum numbers of entries that a backfill cycle examines for each partition, user and association
//! (`_job_exceeds_max_bf_param`).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controller_input::Entry;
use super::parameters::SlurmParameters;

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
    pub fn admits(&mut self, parameters: &SlurmParameters, entry: &Entry) -> bool {
        let (partition, owner) = (entry.partition, entry.owner);
        let groups = [
            (parameters.bf_max_job_part, Some(Group::Partition(partition))),
            (parameters.bf_max_job_user, owner.user.map(Group::User)),
            (parameters.bf_max_job_user_part, owner.user.map(|user| Group::UserInPartition(user, partition))),
            (parameters.bf_max_job_assoc, owner.association.map(Group::Association)),
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
