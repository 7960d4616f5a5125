"""Workload models: jobs made up by published or plausible rules, the same for the same seed."""
