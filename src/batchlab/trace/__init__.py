"""Logs by name: the catalogue of the Parallel Workloads Archive, and the cache of fetched logs."""
