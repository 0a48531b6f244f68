"""How busy a thread is."""

import pytest

from desktop_agent.ui.runtime.work_share import WorkShare


def test_the_share_is_that_of_the_time_since_it_was_asked_last() -> None:
    times = {"clock": 10.0, "work": 3.0}
    share = WorkShare(lambda: times["clock"], lambda: times["work"])
    times |= {"clock": 12.0, "work": 4.0}
    assert share.since_last() == pytest.approx(0.5)
    times |= {"clock": 13.0}
    assert share.since_last() == 0


def test_in_no_time_nothing_was_done() -> None:
    share = WorkShare(lambda: 10.0, lambda: 3.0)
    assert share.since_last() == 0
