# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.skeleton.communicator import CartesianCommunicator as CartesianCommunicator
from batchlab.skeleton.communicator import Communicator as Communicator
from batchlab.skeleton.communicator import Request as Request
from batchlab.skeleton.communicator import balanced_dims as balanced_dims
from batchlab.skeleton.communicator import cartesian as cartesian
from batchlab.skeleton.core_model import CacheLevel as CacheLevel
from batchlab.skeleton.core_model import CoreModel as CoreModel
from batchlab.skeleton.message_log import read_message_log as read_message_log
from batchlab.skeleton.options import MessageOptions as MessageOptions
from batchlab.skeleton.registry import APPLICATIONS as APPLICATIONS
from batchlab.skeleton.registry import named as named
from batchlab.skeleton.skeleton import Skeleton as Skeleton
from batchlab.skeleton.skeleton import SkeletonRun as SkeletonRun
from batchlab.skeleton.skeleton import run as run
from batchlab.skeleton.traffic import MessageClass as MessageClass
from batchlab.skeleton.traffic import Traffic as Traffic
from batchlab.skeleton.traffic import measure as measure
