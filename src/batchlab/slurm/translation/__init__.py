"""Build systems, with accounts, limits and policies, from the configuration of a Slurm cluster."""
