"""Requested memory as options of ``sbatch``: in whole MiB, per CPU or per node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from batchlab.slurm.configuration.cluster import Selection
    from batchlab.slurm.virtual.configuration import Node

__all__ = ["memory_options"]

_KIB = 1024


def memory_options(
    table: pl.DataFrame, selection: Selection, nodes: Sequence[Node], cores: str
) -> Iterator[list[str]]:
    """Yield the memory option of each job; empty for jobs without a request for memory.

    For a job on whole nodes, Slurm multiplies memory per CPU by all CPUs of a node, so such jobs use memory
    per node. So do jobs with one task per node and memory that is no whole number of MiB per CPU.

    Parameters
    ----------
    table
        The jobs: ``tasks``, ``mem`` (KiB per task), and optionally ``tasks_per_node`` and ``exclusive``.
    selection, nodes
        The selection and the nodes of the cluster.
    cores
        The column with the cores per task.
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
    """Return the memory per node, and the number of tasks per node if memory determines it."""
    by_cores = max(1, *(node.cores // cores for node in nodes))
    by_memory = max(1, *((node.memory or 0) * _KIB // amount for node in nodes))
    on_node = min(tasks, most or min(by_cores, by_memory))
    spread = not most and by_memory < min(by_cores, tasks)
    return [f"--mem={_mebibytes(on_node * amount)}M", *([f"--ntasks-per-node={on_node}"] if spread else [])]


def _mebibytes(amount: int) -> int:
    return -(-amount // _KIB)


def _or_nothing(table: pl.DataFrame, name: str) -> list[int | bool | None]:
    return table[name].to_list() if name in table.columns else [None] * len(table)
