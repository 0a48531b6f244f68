"""A changed model in the settings takes effect unless the user chose another one."""

import pytest

from desktop_agent.app.navigator import has_begun, model_after_change
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, TextBlock
from desktop_agent.core.transcript import replay

SONNET, OPUS = ModelRef(provider="anthropic", model="sonnet"), ModelRef(provider="anthropic", model="opus")
AT_HOME = ModelRef(provider="anthropic", model="sonnet", base_url="http://127.0.0.1:9")
DEMO = ModelRef(provider="demo", model="demo")


@pytest.mark.parametrize(
    ("model", "before", "now", "expected"),
    [
        pytest.param(SONNET, SONNET, OPUS, OPUS, id="the default follows"),
        pytest.param(AT_HOME, AT_HOME, SONNET, SONNET, id="the address follows"),
        pytest.param(
            OPUS,
            SONNET,
            AT_HOME,
            ModelRef(provider="anthropic", model="opus", base_url=AT_HOME.base_url),
            id="a chosen model stays, at the new address",
        ),
        pytest.param(AT_HOME, SONNET, OPUS, AT_HOME, id="another address stays"),
        pytest.param(DEMO, SONNET, OPUS, DEMO, id="another provider stays"),
        pytest.param(OPUS, SONNET, DEMO, OPUS, id="a chosen model stays when the provider changes"),
    ],
)
def test_a_changed_default_is_followed_but_a_choice_is_kept(
    model: ModelRef, before: ModelRef, now: ModelRef, expected: ModelRef
) -> None:
    assert model_after_change(model, before, now) == expected


def test_a_conversation_has_begun_when_a_model_has_answered() -> None:
    asked = ev.PromptSubmitted(turn=1, prompt_id="p", text="Hello?")
    refused = ev.Notice(level="error", code="authentication", title="The key was refused.", turn=1)
    answered = ev.MessageDone(
        turn=1, message_id="m", model=SONNET, content=(TextBlock(text="Hello."),), stop_reason="end_turn"
    )
    assert [has_begun(replay(events)) for events in ([], [asked, refused], [asked, answered])] == [False, False, True]
