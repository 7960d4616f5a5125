from batchlab.slurm.virtual import *
