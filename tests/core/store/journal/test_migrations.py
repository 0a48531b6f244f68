"""Lines of earlier versions become today's while they are read; lines of later ones are kept and skipped."""

import json
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, encode_event
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import journal_reader
from desktop_agent.core.store.journal.journal_reader import STEPS, migrated, read_journal
from desktop_agent.core.transcript import replay
from tests.core.samples import SAMPLE_EVENTS
from tests.core.store.journals import reopen_and_append


def renamed_field(fields: JsonObject) -> JsonObject:
    return {("title" if key == "name" else key): value for key, value in fields.items()}


def trimmed(fields: JsonObject) -> JsonObject:
    return fields | {"title": str(fields["title"]).strip()}


TWO_STEPS = {1: renamed_field, 2: trimmed}


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert set(STEPS) == set(range(1, ev.FORMAT_VERSION))


def test_a_line_goes_through_every_step_that_it_needs() -> None:
    first: JsonObject = {"v": 1, "type": "session_renamed", "name": " a "}
    second: JsonObject = {"v": 2, "type": "session_renamed", "title": " a "}
    third: JsonObject = {"v": 3, "type": "session_renamed", "title": " a "}
    assert migrated(first, steps=TWO_STEPS, target=3) == third | {"title": "a"}
    assert migrated(second, steps=TWO_STEPS, target=3) == third | {"title": "a"}
    assert migrated(third, steps=TWO_STEPS, target=3) == third
    assert first["v"] == 1, "the line itself is not touched"


@pytest.mark.parametrize("version", [4, 0, -1, "1", None, True, 2.5, [1]])
def test_a_line_of_a_version_that_never_was_or_is_yet_to_come_is_left_alone(version: object) -> None:
    line: JsonObject = {"v": version, "type": "session_renamed", "name": "a"}
    assert migrated(line, steps=TWO_STEPS, target=3) is line


def test_a_version_that_no_step_leads_on_from_is_named() -> None:
    with pytest.raises(MalformedLineError, match="version 1"):
        migrated({"v": 1, "type": "x"}, steps={2: trimmed}, target=3)


def test_an_old_journal_is_read_through_the_steps_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    line = {"v": 0, "seq": 1, "at": "2026-01-01T00:00:00Z", "type": "session_renamed", "name": "old"}
    path.write_text(json.dumps(line) + "\n")
    before = path.read_bytes()

    def from_zero(fields: JsonObject) -> JsonObject:
        return renamed_field(fields) | {"v": 1} if fields["v"] == 0 else fields

    monkeypatch.setattr(journal_reader, "migrated", from_zero)
    events, damages = read_journal(path, Blobs(tmp_path / "blobs"))
    assert [getattr(event, "title", "") for event in events] == ["old"]
    assert damages == []
    assert path.read_bytes() == before


def test_a_journal_with_lines_of_the_future_opens_keeps_them_and_goes_on(tmp_path: Path) -> None:
    path, blobs = tmp_path / "journal.jsonl", Blobs(tmp_path / "blobs")
    known = [encode_event(event) for event in SAMPLE_EVENTS[:2]]
    future: list[JsonObject] = [
        {"v": 1, "seq": 3, "at": "2030-01-01T00:00:00Z", "type": "dreamed", "of": ["sheep"]},
        {"v": 7, "seq": 4, "at": "2030-01-01T00:00:00Z", "type": "prompt_submitted", "words": "unheard of"},
        {"v": [9], "seq": "five", "type": "session_renamed"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*known, *future]))
    before = path.read_bytes()
    events, damages = read_journal(path, blobs)
    assert damages == []
    assert [event.payload for event in events if isinstance(event, ev.UnknownEvent)] == future
    transcript = replay(events)
    assert transcript.session.last_seq == 4
    assert reopen_and_append(path, blobs, SAMPLE_EVENTS[2].stamped(5, ev.UNSTAMPED)) is None
    assert path.read_bytes().startswith(before)
    assert [encode_event(event) for event in read_journal(path, blobs)[0]][:5] == [*known, *future]
