from batchlab.slurm.translation.translation import Translation as Translation
from batchlab.slurm.translation.translation import check as check
from batchlab.slurm.translation.translation import translate as translate
