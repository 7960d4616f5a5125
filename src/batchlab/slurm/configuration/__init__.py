"""Read the configuration of a cluster that runs Slurm; `batchlab.slurm` lists the public names."""
