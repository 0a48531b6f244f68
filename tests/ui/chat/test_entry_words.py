from typing import get_args

import pytest

from desktop_agent.core.protocol.events import TurnEnded, TurnEndReason
from desktop_agent.ui.chat import entry_words


@pytest.mark.parametrize("reason", get_args(TurnEndReason))
def test_every_end_has_its_sentence(reason: TurnEndReason) -> None:
    sentence = entry_words.sentence(TurnEnded(turn=1, reason=reason, requests=2, duration_s=2.5))
    assert sentence
    assert "{" not in sentence
    assert "!" not in sentence
