"""When a request is sent again, and how long the turn waits before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import TRANSIENT_FAULTS, ProviderError, ProviderFault
from desktop_agent.core.providers.provider import RetryPolicy

POLICY = RetryPolicy()
FRACTIONS = st.floats(min_value=0, max_value=1, exclude_max=True)
ATTEMPTS = st.integers(min_value=1, max_value=10_000)


def _error(fault: ProviderFault = "overloaded", retry_after_s: float | None = None) -> ProviderError:
    return ProviderError("It failed.", fault=fault, retry_after_s=retry_after_s)


@pytest.mark.parametrize("fault", sorted(TRANSIENT_FAULTS))
def test_what_can_pass_is_tried_again(fault: ProviderFault) -> None:
    assert POLICY.should_retry(_error(fault), attempt=1)


@pytest.mark.parametrize(
    "fault", ["authentication", "permission", "not_found", "invalid_request", "too_large", "billing"]
)
def test_what_somebody_must_change_is_not_tried_again(fault: ProviderFault) -> None:
    assert not POLICY.should_retry(_error(fault), attempt=1)


def test_the_last_try_is_not_followed_by_another() -> None:
    tries = RetryPolicy(max_tries=3)
    assert [tries.should_retry(_error(), attempt) for attempt in (1, 2, 3)] == [True, True, False]


def test_the_wait_doubles_up_to_its_cap() -> None:
    longest = [POLICY.delay_s(attempt, _error(), lambda: 1.0) for attempt in range(1, 8)]
    assert longest == [1, 2, 4, 8, 16, 30, 30]


@given(attempt=ATTEMPTS, fraction=FRACTIONS)
def test_a_wait_is_between_half_and_all_of_the_backoff(attempt: int, fraction: float) -> None:
    full = min(2.0 ** min(attempt - 1, 10), 30.0)
    assert full / 2 <= POLICY.delay_s(attempt, _error(), lambda: fraction) <= full


@given(attempt=ATTEMPTS, fraction=FRACTIONS, asked=st.floats(min_value=0.001, max_value=1e9))
def test_what_the_server_asks_for_is_honoured_up_to_a_minute(attempt: int, fraction: float, asked: float) -> None:
    delay = POLICY.delay_s(attempt, _error(retry_after_s=asked), lambda: fraction)
    assert min(asked, 60) <= delay <= min(asked * 1.1, 60)


def test_a_server_that_asks_for_no_wait_gets_the_backoff() -> None:
    assert POLICY.delay_s(2, _error(retry_after_s=0), lambda: 0.0) == 1
