"""Every event survives the trip through JSON."""

import json
from typing import get_args

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event, encode_event
from desktop_agent.core.protocol.model import JsonObject
from tests.core.samples import SAMPLE_EVENTS


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: event.type)
def test_an_event_comes_back_from_json_as_it_was(event: ev.KnownEvent) -> None:
    line = json.loads(json.dumps(encode_event(event)))
    assert line["v"] == 1
    assert decode_event(line) == event


def test_there_is_a_sample_of_every_durable_event() -> None:
    assert {type(event) for event in SAMPLE_EVENTS} == set(get_args(ev.KnownEvent))


def test_a_live_event_has_no_number_and_no_version() -> None:
    assert encode_event(ev.TextDelta(turn=1, text="a")) == {"type": "text_delta", "turn": 1, "text": "a"}


def test_an_unknown_kind_is_kept_whole() -> None:
    line: JsonObject = {"v": 1, "seq": 9, "at": "2026-01-01T00:00:00Z", "type": "dreamed", "of": {"sheep": 3}}
    event = decode_event(line)
    assert isinstance(event, ev.UnknownEvent)
    assert event.seq == 9
    assert encode_event(event) == line


@pytest.mark.parametrize(
    "line",
    [{}, {"type": 3}, {"v": 1, "type": "session_renamed"}, {"v": 1, "type": "turn_ended", "turn": "many"}],
)
def test_a_line_that_lacks_what_its_type_requires_is_malformed(line: dict[str, object]) -> None:
    with pytest.raises(MalformedLineError):
        decode_event(line)
