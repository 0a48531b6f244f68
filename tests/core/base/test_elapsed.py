"""Times are said as people say them."""

import pytest

from desktop_agent.core.base.elapsed import duration_text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "1 ms"), (0.0061, "6 ms"), (0.4, "400 ms"), (3.21, "3.2 s"), (125, "2 min 5 s"), (7400, "2 h 3 min")],
)
def test_times(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said
