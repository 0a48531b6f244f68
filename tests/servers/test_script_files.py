"""A script file spells what the words of a script spell."""

import pytest

from tests.servers import fault
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.script_files import answers_from_json


def test_a_script_file_spells_what_the_words_spell() -> None:
    script: list[object] = [
        {"text": "Hi."},
        {
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "toolu_x", "name": "list_files", "input": {}},
            ],
            "fault": {"kind": "reset", "events": 3},
        },
        {"text": "Cut", "stop_reason": "max_tokens", "pace_ms": 20},
        {"status": 429, "error_type": "rate_limit_error", "message": "slow", "headers": {"retry-after": "2"}},
    ]
    assert answers_from_json(script) == [
        reply(text("Hi.")),
        reply(
            thinking("Hm.", signature="sig"),
            text("Looking."),
            tool_use("read_file", path="a.py"),
            tool_use("list_files").with_id("toolu_x"),
            fault.drop_after(events=3),
        ),
        reply(text("Cut"), stop_reason="max_tokens").paced(0.02),
        fault.status(429, "rate_limit_error", "slow", retry_after="2"),
    ]


@pytest.mark.parametrize(
    "script",
    [
        {"text": "Hi."},
        [{}],
        [{"content": [{"type": "image"}]}],
        [{"text": "Hi.", "fault": {"kind": "explode", "events": 1}}],
        [{"text": "Hi.", "fault": {"kind": "reset"}}],
    ],
)
def test_a_script_file_that_makes_no_sense_is_refused(script: object) -> None:
    with pytest.raises(ValueError, match=r"script|answer|fault"):
        answers_from_json(script)
