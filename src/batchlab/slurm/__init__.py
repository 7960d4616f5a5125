"""Slurm: its configuration files, the decisions of its controller, twins of clusters, virtual nodes.

``configuration`` reads ``slurm.conf`` with its included files, ``topology.conf``, ``gres.conf``, accounts and
QOS: parsed as in Slurm, typed, with Slurm's defaults for a release. Tables list all keys and how they are
treated here. ``translation`` converts a configuration to a `System`. ``dumps`` reads the jobs, nodes and
reservations of a live cluster. ``twin`` runs what-if studies and fits on logs; ``virtual`` runs a real Slurm
on virtual nodes.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
