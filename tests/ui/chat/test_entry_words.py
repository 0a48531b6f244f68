"""Every way a turn can end has its sentence, and times are said as people say them."""

from typing import get_args

import pytest

from desktop_agent.core.protocol.events import TurnEnded, TurnEndReason
from desktop_agent.ui.chat import entry_words


@pytest.mark.parametrize("reason", get_args(TurnEndReason))
def test_every_end_has_its_sentence(reason: TurnEndReason) -> None:
    sentence = entry_words.turn_end(TurnEnded(turn=1, reason=reason, requests=2, duration_s=2.5))
    assert sentence
    assert "{" not in sentence
    assert "!" not in sentence


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "1 ms"), (0.0061, "6 ms"), (0.4, "400 ms"), (3.21, "3.2 s"), (125, "2 min 5 s"), (7400, "2 h 3 min")],
)
def test_times(seconds: float, said: str) -> None:
    assert entry_words.duration(seconds) == said
