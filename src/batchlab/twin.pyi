from batchlab.slurm.twin import *
