"""Accounts, usage, fair share and the multifactor priority, as the kernel computes them.

What they mean to the letter is S12 of ``docs/semantics.md``.
"""

from batchlab.accounting.fair_share import RULES, fair_share
from batchlab.accounting.multifactor import priority
from batchlab.accounting.usage import Usage
from batchlab.accounting.windows import target_delta, window_share
from batchlab.lazy import listing

__all__ = ["RULES", "Usage", "fair_share", "priority", "target_delta", "window_share"]

__dir__ = listing(__name__)
