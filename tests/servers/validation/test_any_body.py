"""Whatever is sent, a checker has an answer, and finds a good body with something foreign in it bad."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.validation import anthropic, chat, responses
from tests.servers.validation.changing import changed
from tests.servers.validation.test_anthropic import GOOD as MESSAGES
from tests.servers.validation.test_chat import GOOD as CHAT
from tests.servers.validation.test_responses import GOOD as ITEMS


class Format(NamedTuple):
    """A checker and a body that it lets pass."""

    check: Callable[[object], list[str]]
    good: JsonObject


FORMATS = [
    Format(anthropic.check_request, MESSAGES),
    Format(chat.check_request, CHAT),
    Format(responses.check_request, ITEMS),
]
NAMES = st.sampled_from(["type", "role", "content", "id", "call_id", "tool_calls", "input", "text", "summary"])
WORDS = st.sampled_from(["message", "user", "assistant", "tool", "reasoning", "function_call", "text", "image_url", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=6,
)


def places(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if path:
        yield path, value
    inner = list[tuple[object, object]]()
    if isinstance(value, dict):
        inner += cast("dict[object, object]", value).items()
    elif isinstance(value, list):
        inner += enumerate(cast("list[object]", value))
    for step, item in inner:
        yield from places(item, f"{path}.{step}" if path else str(step))


@pytest.mark.parametrize("spoken", FORMATS, ids=["messages", "chat", "responses"])
@given(data=st.data())
def test_nothing_that_is_sent_breaks_a_checker(spoken: Format, data: st.DataObject) -> None:
    path, _ = data.draw(st.sampled_from(list(places(spoken.good))))
    body = changed(spoken.good, path, data.draw(JSON))
    assert all(isinstance(problem, str) for problem in spoken.check(body))


@pytest.mark.parametrize("spoken", FORMATS, ids=["messages", "chat", "responses"])
def test_a_foreign_field_is_found_wherever_fields_have_names(spoken: Format) -> None:
    free = ("properties", "cache_control", "$defs", "parameters", "input_schema", "arguments")
    for path, value in places(spoken.good):
        if isinstance(value, dict) and not any(name in path.split(".") for name in free):
            if path.endswith(".input"):  # the arguments of a call
                continue
            assert any(
                "foreign: unknown field" in each for each in spoken.check(changed(spoken.good, f"{path}.foreign", 1))
            )
