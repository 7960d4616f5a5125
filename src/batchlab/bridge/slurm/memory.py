"""The memory that jobs ask for, as options of ``sbatch``: in whole MiB, by CPU or by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from batchlab.bridge.slurm.configuration import Node
    from batchlab.slurm.cluster import Selection

__all__ = ["memory_options"]

_KIB = 1024


def memory_options(
    table: pl.DataFrame, selection: Selection, nodes: Sequence[Node], cores: str
) -> Iterator[list[str]]:
    """Return the options for the memory of each job; none for jobs that ask for no memory.

    Slurm takes memory by CPU of all CPUs of a node if a job takes the node whole. The option of such jobs
    is the memory of a node. So is that of jobs with one task on each node whose memory is no whole number
    of MiB by CPU.

    Parameters
    ----------
    table
        The jobs: ``tasks``, ``mem`` (KiB of each task) and, if they are there, ``tasks_per_node`` and
        ``exclusive``.
    selection, nodes
        The cluster's.
    cores
        The column with the cores of each task.
    """
    columns = [table[name].to_list() for name in ("tasks", cores, "mem")]
    columns += [_or_nothing(table, name) for name in ("tasks_per_node", "exclusive")]
    for tasks, each, amount, most, exclusive in zip(*columns, strict=True):
        if not amount:
            yield []
        elif exclusive or selection.type == "linear":
            yield _of_whole_nodes(nodes, tasks, each, amount, most)
        elif (tasks == 1 or most == 1) and amount % (each * _KIB):
            yield [f"--mem={_mebibytes(amount)}M"]
        else:
            yield [f"--mem-per-cpu={_mebibytes(-(-amount // each))}M"]


def _of_whole_nodes(
    nodes: Sequence[Node], tasks: int, cores: int, amount: int, most: int | None
) -> list[str]:
    """Return the memory of a node, and how many tasks it has if memory decides that."""
    by_cores = max(1, *(node.cores // cores for node in nodes))
    by_memory = max(1, *((node.memory or 0) * _KIB // amount for node in nodes))
    on_node = min(tasks, most or min(by_cores, by_memory))
    spread = not most and by_memory < min(by_cores, tasks)
    return [f"--mem={_mebibytes(on_node * amount)}M", *([f"--ntasks-per-node={on_node}"] if spread else [])]


def _mebibytes(amount: int) -> int:
    return -(-amount // _KIB)


def _or_nothing(table: pl.DataFrame, name: str) -> list[int | bool | None]:
    return table[name].to_list() if name in table.columns else [None] * len(table)
