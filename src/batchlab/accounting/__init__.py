"""Accounts, usage, fair share and the multifactor priority, computed by the kernel.

S12 of ``docs/semantics.md`` defines them.
"""

from batchlab.accounting.fair_share import RULES, Usage, fair_share, target_delta, window_share
from batchlab.accounting.multifactor import priority
from batchlab.core.lazy import make_dir

__all__ = ["RULES", "Usage", "fair_share", "priority", "target_delta", "window_share"]

__dir__ = make_dir(__name__)
