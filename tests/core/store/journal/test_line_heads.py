"""The beginning of a line says what it is, as long as the codec writes the keys in their order."""

import json

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.store.journal.journal_mark import moment_of
from desktop_agent.core.store.journal.line_heads import head_of, usage_in, written_head
from desktop_agent.core.store.journal.line_writing import encode_line
from tests.core.samples import AT, MODEL, SAMPLE_EVENTS

USAGE = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=11, cache_write_tokens=13)


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: event.type)
def test_a_line_that_we_write_begins_as_its_readers_expect(event: ev.KnownEvent) -> None:
    head = written_head(encode_line(encode_event(event)))
    assert head is not None
    assert (moment_of(head.at.decode()), head.kind.decode()) == (event.at, event.type)


def test_the_turn_of_a_turn_that_starts_comes_right_after_its_kind() -> None:
    head = written_head(encode_line(encode_event(ev.TurnStarted(turn=12, model=MODEL).stamped(1, AT))))
    assert head is not None
    assert head.turn == 12


def test_tokens_are_written_in_the_order_in_which_they_are_read() -> None:
    line = encode_line(encode_event(ev.UsageReported(turn=1, usage=USAGE).stamped(1, AT)))
    assert usage_in(line) == USAGE


def test_a_line_in_another_order_says_the_same() -> None:
    fields = encode_event(ev.TurnStarted(turn=12, model=MODEL).stamped(1, AT))
    line = json.dumps(dict(reversed(fields.items()))).encode()
    assert written_head(line) is None
    assert head_of(line) == written_head(encode_line(fields))
