"""Logs of batch systems: the accounting of Slurm and of PBS."""
