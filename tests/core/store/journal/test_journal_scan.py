"""Heads of lines and marks of journals."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import ModelRef, Usage
from desktop_agent.core.store.journal import journal_scan
from desktop_agent.core.store.journal.journal import encode_line
from desktop_agent.core.store.journal.journal_scan import HEAD, head_of, moment_of, reported_in, whole_lines
from tests.core.samples import AT, MODEL, SAMPLE_EVENTS

USAGE = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=11, cache_write_tokens=13, web_searches=2)


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: event.type)
def test_a_line_that_we_write_begins_as_its_readers_expect(event: ev.KnownEvent) -> None:
    line = encode_line(encode_event(event))
    assert HEAD.match(line)
    head = head_of(line)
    assert head is not None
    assert (moment_of(head.at.decode()), head.kind.decode()) == (event.at, event.type)


def test_the_turn_of_a_turn_that_starts_comes_right_after_its_kind() -> None:
    head = head_of(encode_line(encode_event(ev.TurnStarted(turn=12, model=MODEL).stamped(1, AT))))
    assert head is not None
    assert head.turn == 12


@pytest.mark.parametrize("usage", [USAGE, replace(USAGE, cost_usd=0.25), replace(USAGE, cost_usd=0.0)])
@pytest.mark.parametrize("model", [None, MODEL])
def test_what_a_request_took_is_read_from_its_line(usage: Usage, model: ModelRef | None) -> None:
    fields = encode_event(ev.UsageReported(turn=1, usage=usage, model=model).stamped(1, AT))
    for line in (encode_line(fields), json.dumps(dict(reversed(fields.items()))).encode()):
        reported = reported_in(line)
        assert reported is not None
        assert Usage() + reported.usage == usage
        assert (reported.model and reported.model.model) == (model and model.model)


def test_a_line_that_is_older_than_prices_tells_its_tokens() -> None:
    reported = reported_in(b'{"type":"usage_reported","turn":1,"usage":{"input_tokens":5,"output_tokens":7}}')
    assert reported is not None
    assert Usage() + reported.usage == Usage(input_tokens=5, output_tokens=7)


@pytest.mark.parametrize(
    "usage",
    [
        b'{"input_tokens":-1}',
        b'{"output_tokens":1.5}',
        b'{"input_tokens":1' + b"0" * 400 + b"}",
        b'{"cost_usd":-0.01}',
        b'{"cost_usd":1e999}',
        b'{"cost_usd":NaN}',
        b'{"cost_usd":"much"}',
        b'{"unpriced_tokens":-5}',
        b"[" * 100_000,
        b"null",
    ],
)
def test_counts_and_costs_that_cannot_be_are_not_read(usage: bytes) -> None:
    assert reported_in(b'{"type":"usage_reported","turn":1,"usage":' + usage + b"}") is None


def test_a_line_in_another_order_says_the_same() -> None:
    fields = encode_event(ev.TurnStarted(turn=12, model=MODEL).stamped(1, AT))
    line = json.dumps(dict(reversed(fields.items()))).encode()
    assert HEAD.match(line) is None
    assert head_of(line) == head_of(encode_line(fields))


def test_of_a_line_that_is_too_long_only_its_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scan, "_LIMIT", 8)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"first\n" + b"x" * 20 + b"\nlast\n" + b"y" * 20 + b"\n")
    with path.open("rb") as file:
        assert list(whole_lines(file, 0)) == [(0, 6, b"first\n"), (6, 27, b""), (27, 32, b"last\n"), (32, 53, b"")]


def test_a_line_without_its_end_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_scan, "_LIMIT", 8)
    for rest in (b"open", b"y" * 20):
        path = tmp_path / "journal.jsonl"
        path.write_bytes(b"first\n" + rest)
        with path.open("rb") as file:
            assert [line for _, _, line in whole_lines(file, 0)] == [b"first\n"]
