"""The parameters of `slurm` on a machine of the reference."""

from typing import Any

from batchlab.policy import SlurmParameters
from reference.slurm_selection import Machine

__all__ = ["parameters_on"]


def parameters_on(machine: Machine, **own: Any) -> SlurmParameters:  # noqa: ANN401  # parameters of several types
    """Return those that a machine of the reference has, with others."""
    return SlurmParameters(
        select="linear" if machine.select == "linear" else "cores",
        cr_lln=machine.least_loaded,
        pack_serial_at_end=machine.serial_at_end,
        bf_busy_nodes=machine.busy_first,
        bf_resolution=int(machine.resolution),
        bf_window=int(machine.window),
        epoch=int(machine.epoch),
        bf_max_job_test=int(machine.max_entries),
        bf_max_job_part=machine.max_entries_of_partition,
        bf_max_job_user=machine.max_entries_of_user,
        bf_max_job_user_part=machine.max_entries_of_user_in_partition,
        bf_max_job_assoc=machine.max_entries_of_association,
        bf_job_part_count_reserve=machine.plans_of_partition,
        bf_min_prio_reserve=int(machine.min_priority),
        bf_min_age_reserve=int(machine.min_age),
        bf_one_resv_per_job=machine.one_plan_of_job,
        bf_max_job_array_resv=machine.plans_of_array,
        bf_max_job_start=machine.max_starts,
        partition_job_depth=machine.depth_of_partition,
        sched_max_job_start=machine.main_starts,
        kill_wait=int(machine.kill_wait),
        **own,
    )
