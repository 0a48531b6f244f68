"""What the settings say of the model is followed where the user did not choose otherwise."""

import pytest

from desktop_agent.app.settings.model_following import followed
from desktop_agent.core.protocol.model import ModelRef

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
    assert followed(model, before, now) == expected
