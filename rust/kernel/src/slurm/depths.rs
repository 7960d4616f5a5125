//! Maximum numbers of entries that a backfill cycle examines for each partition, user and association
//! (`_job_exceeds_max_bf_param`).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controller_input::Entry;
use super::finding::Stop;
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
    /// Count an entry in all of its groups. Return the parameter, and do not count it, if the maximum of one of them is
    /// reached. O(log groups).
    pub fn refuses(&mut self, parameters: &SlurmParameters, entry: &Entry) -> Option<Stop> {
        let (partition, owner) = (entry.partition, entry.owner);
        let groups = [
            (Stop::BfMaxJobPart, parameters.bf_max_job_part, Some(Group::Partition(partition))),
            (Stop::BfMaxJobUser, parameters.bf_max_job_user, owner.user.map(Group::User)),
            (
                Stop::BfMaxJobUserPart,
                parameters.bf_max_job_user_part,
                owner.user.map(|user| Group::UserInPartition(user, partition)),
            ),
            (Stop::BfMaxJobAssoc, parameters.bf_max_job_assoc, owner.association.map(Group::Association)),
        ];
        let groups = groups.into_iter().filter_map(|(stop, most, group)| Some((stop, most, group?)));
        let counted = || groups.clone().filter(|each| each.1 > 0);
        let count_of = |group: Group| self.counts.get(&group).copied().unwrap_or(0);
        if let Some((stop, ..)) = counted().find(|&(_, most, group)| count_of(group) >= most) {
            return Some(stop);
        }
        for (_, _, group) in counted() {
            *self.counts.entry(group).or_default() += 1;
        }
        None
    }
}
