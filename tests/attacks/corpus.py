"""Makes tests from a corpus of attacks: a tenth by day, all in the nightly profile."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")

SHARE = 10
"""By day, one of so many cases runs."""


def cases(corpus: Iterable[T], name: Callable[[T], str]) -> list[ParameterSet]:
    """Return `corpus` as parameters of a test with ids by `name`.

    The first case and every tenth after it run always, the others with `--profile nightly`.
    """
    return [
        pytest.param(case, id=name(case), marks=() if index % SHARE == 0 else (pytest.mark.nightly,))
        for index, case in enumerate(corpus)
    ]
