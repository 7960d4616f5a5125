"""Policies whose parts are written in Python."""

import pickle
import re

import numpy as np

import batchlab as bl
from support.python_schedulers import InOrder


def test_policies_with_pieces_in_python() -> None:
    """They are equal where their pieces are the same objects, are named after them, and survive pickling."""
    scheduler = InOrder()
    policy = bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")
    assert str(policy) == "InOrder(order=sjf, allocator=best_fit, predictor=last_two)"
    assert repr(policy) == f"<Policy {policy}>"
    assert not policy.is_named
    assert policy == bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")
    assert policy != bl.Policy("sjf", allocator="best_fit", scheduler=InOrder(), predictor="last_two")
    assert (
        len({policy, bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")}) == 1
    )
    again = pickle.loads(pickle.dumps(bl.Policy(order=np.negative, scheduler=InOrder())))  # noqa: S301  # our own
    assert isinstance(again.scheduler, InOrder)
    assert re.fullmatch(r"<Policy InOrder\(order=negative\)>", repr(again))
