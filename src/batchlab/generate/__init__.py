"""Workload models: jobs made up by published or plausible rules, the same for the same seed."""

from batchlab.generate.demo import demo_system, demo_workload

__all__ = ["demo_system", "demo_workload"]
