"""Durations that were added up in any order have the percentiles of the whole list, in two digits."""

import math

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.usage.durations import MICROSECONDS, DurationSum, rounded

lists_of_seconds = st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=40)


@given(lists_of_seconds, lists_of_seconds, st.sampled_from([1, 50, 95, 99, 100]))
def test_a_percentile_of_sums_is_that_of_all_durations(some: list[float], others: list[float], percent: int) -> None:
    whole, part = DurationSum(), DurationSum()
    for one in some:
        whole.add(one)
    for one in others:
        part.add(one)
    whole.add_all(part.durations())
    both = sorted(some + others)
    nearest = both[math.ceil(len(both) * percent / 100) - 1]
    assert whole.durations().percentile_s(percent) == rounded(round(nearest * MICROSECONDS) or 1) / MICROSECONDS
    assert whole.durations().count == len(both)
    assert math.isclose(whole.durations().total_s, sum(both), rel_tol=1e-6, abs_tol=0.01)


@given(st.integers(1, 10**12))
def test_what_is_rounded_has_two_digits_and_is_right_to_five_percent(micros: int) -> None:
    assert len(str(rounded(micros)).rstrip("0")) <= 2
    assert abs(rounded(micros) - micros) <= micros * 0.05


def test_what_took_no_time_was_not_measured() -> None:
    durations = DurationSum()
    durations.add(0.0)
    assert durations.durations().count == 0
    assert durations.durations().percentile_s(50) is None
