"""The jobs of a run by submission, and which of them overtook a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from batchlab.result.why.runs import Floats, Pieces, Whole

__all__ = ["Submissions"]

_BLOCK = 512


class Submissions:
    """The jobs by submission, with an index of their first starts.

    Parameters
    ----------
    submit_times
        When the jobs were submitted, seconds.
    pieces
        What they held, and when.
    """

    def __init__(self, submit_times: Floats, pieces: Pieces) -> None:
        starts = np.full(len(submit_times), np.inf)
        np.minimum.at(starts, pieces.row, pieces.began)
        self.order: Whole = np.argsort(submit_times, kind="stable")
        self.submitted: Floats = submit_times[self.order]
        self.starts: Floats = starts[self.order]
        self.place: Whole = np.empty(len(starts), np.int64)
        self.place[self.order] = np.arange(len(starts))
        blocks = np.arange(0, len(starts), _BLOCK)
        self._earliest = np.minimum.reduceat(self.starts, blocks) if len(starts) else np.empty(0)

    def overtakers(self, row: int, end: float) -> Whole:
        """Return the rows of jobs submitted after a job that started before a time, by submission.

        O(√n) and the blocks of jobs with such a job.
        """
        first = int(self.place[row]) + 1
        last = int(np.searchsorted(self.submitted, end, "left"))
        blocks = np.arange(first // _BLOCK, -(-last // _BLOCK))
        blocks = blocks[self._earliest[blocks] < end]
        places = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        places = places[(places >= first) & (places < last)]
        return np.asarray(self.order[places[self.starts[places] < end]])
