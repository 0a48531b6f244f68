"""A checker finds a good body with something foreign in it bad, wherever that is."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import pytest

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
def test_a_foreign_field_is_found_wherever_fields_have_names(spoken: Format) -> None:
    free = ("properties", "cache_control", "$defs", "parameters", "input_schema", "arguments")
    for path, value in places(spoken.good):
        if isinstance(value, dict) and not any(name in path.split(".") for name in free):
            if path.endswith(".input"):  # the arguments of a call
                continue
            assert any(
                "foreign: unknown field" in each for each in spoken.check(changed(spoken.good, f"{path}.foreign", 1))
            )
