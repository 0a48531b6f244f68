"""A hostile journal causes no crash and no access outside of the data folder."""

import json
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.session.recorder import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import lines
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import Damage, read_journal
from desktop_agent.core.transcript import replay
from tests.core.samples import SAMPLE_EVENTS
from tests.core.store.journals import record, records, write

MOVED = "text/plain; charset=utf-8; moved=string"
MOVED_OBJECT = "application/json; moved=object"
ID = "20261121-213700-k3f9qx"


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "data" / "blobs")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "sessions" / ID
    folder.mkdir(parents=True)
    return folder / "journal.jsonl"


def write_lines(path: Path, *content: JsonObject | bytes) -> None:
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in content)
    )


def renamed(title: object, seq: int = 1) -> JsonObject:
    return {"v": 1, "seq": seq, "at": "2026-01-01T00:00:00Z", "type": "session_renamed", "title": title}


def reasons(damages: list[Damage]) -> dict[int, str]:
    return {damage.line: damage.reason for damage in damages}


@pytest.mark.parametrize("ending", [b"", b"\n"], ids=["without end", "ended"])
def test_a_huge_line_is_named_and_passed_over_with_bounded_memory(
    path: Path, blobs: Blobs, ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines.read_lines, "__kwdefaults__", {"number": 1, "limit": 2**20})
    with path.open("wb") as file:
        file.write(json.dumps(renamed("first")).encode() + b"\n")
        file.write(b'{"v":1,"title":"')
        for _ in range(100):
            file.write(b"x" * 2**20)
        file.write(ending)
        file.write(json.dumps(renamed("last", 2)).encode() + b"\n" if ending else b"")
    tracemalloc.start()
    events, damages = read_journal(path, blobs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [getattr(event, "title", "") for event in events] == (["first", "last"] if ending else ["first"])
    assert list(reasons(damages)) == [2]
    assert "too long" in reasons(damages)[2]
    assert peak < 10 * 2**20


def test_a_record_that_no_reader_would_take_is_not_written(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10_000)
    journal = Journal.create(path, blobs)
    deep: JsonObject = {}
    for _ in range(1000):
        deep = {"a": deep}
    unwritable: list[JsonObject] = [
        deep,
        {"items": list(range(5000))},
        {"number": float("nan")},
        {"number": float("-inf")},
    ]
    for payload in unwritable:
        with pytest.raises(StorageError, match="cannot be recorded"):
            journal.append(ev.UnknownEvent(payload={"v": 1, "type": "dreamed"} | payload), is_durable=True)
    journal.append(record(1), is_durable=True)
    journal.close()
    assert read_journal(path, blobs) == (records(1), [])


@pytest.mark.parametrize("depth", [100, 299, 301, 5000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_read_or_named_never_a_crash(
    path: Path, blobs: Blobs, depth: int, opening: str, closing: str
) -> None:
    nested = opening * depth + "1" + closing * depth
    moved = json.dumps({"blob": "a" * 64, "size": 1, "media_type": MOVED})
    line = f'{{"v":1,"seq":1,"type":"dreamed","moved":{moved},"of":{nested}}}'
    write_lines(path, line.encode(), renamed("last", 2))
    events, damages = read_journal(path, blobs)
    assert getattr(events[-1], "title", "") == "last"
    if len(events) == 1:
        assert "nested too deeply" in reasons(damages)[1]
    else:
        assert depth < lines.MAX_DEPTH


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999"])
def test_a_number_that_is_none_costs_its_line(path: Path, blobs: Blobs, number: str) -> None:
    ended = b'{"v":1,"seq":1,"type":"turn_ended","turn":1,"reason":"completed","requests":1,"duration_s":%s}'
    write_lines(path, ended % number.encode(), renamed("last", 2))
    events, damages = read_journal(path, blobs)
    assert [getattr(event, "title", "") for event in events] == ["last"]
    assert list(reasons(damages)) == [1]


def test_whole_numbers_of_any_size_and_half_characters_come_back(path: Path, blobs: Blobs) -> None:
    payload: JsonObject = {"v": 2, "type": "x", "huge": 2**200, "low": -(2**63) - 1, "half": "\ud800 \udfff", "f": 0.1}
    journal = Journal.create(path, blobs)
    journal.append(ev.UnknownEvent(payload=payload), is_durable=False)
    journal.close()
    [event] = read_journal(path, blobs)[0]
    assert isinstance(event, ev.UnknownEvent)
    assert event.payload == payload


def test_the_last_of_two_values_with_the_same_key_counts(path: Path, blobs: Blobs) -> None:
    write_lines(path, b'{"v":1,"seq":1,"type":"session_renamed","title":"a","title":"b"}')
    events, damages = read_journal(path, blobs)
    assert [getattr(event, "title", "") for event in events] == ["b"]
    assert damages == []


@pytest.mark.parametrize(
    "reference",
    [
        {"blob": "../../../secret", "size": 6},
        {"blob": "/etc/passwd", "size": 10},
        {"blob": "..", "size": 1},
        {"blob": "a" * 63 + "/", "size": 1},
        {"blob": "A" * 64, "size": 1},
        {"blob": "a" * 64 + "\x00", "size": 1},
        {"blob": ["a" * 64], "size": 1},
        {"blob": None, "size": 1},
        {"blob": "a" * 64, "size": 10 * 2**40},
        {"blob": "a" * 64, "size": -1},
        {"blob": "a" * 64, "size": "1"},
        {"blob": "a" * 64, "size": True},
        {"blob": "a" * 64, "size": 1},
    ],
    ids=str,
)
def test_a_reference_leads_nowhere_but_to_a_blob(
    path: Path, blobs: Blobs, tmp_path: Path, reference: JsonObject
) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "data" / "secret").write_text("secret")
    write_lines(path, renamed(reference | {"media_type": MOVED}), renamed("last", 2))
    events, damages = read_journal(path, blobs)
    assert [getattr(event, "title", "") for event in events] == ["[this content is missing on disk]", "last"]
    assert list(reasons(damages)) == [1]
    assert "secret" not in repr(events)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"\xff\xfe", MOVED), (b"{broken", MOVED_OBJECT), (b"[" * 10**5, MOVED_OBJECT)],
    ids=["not UTF-8", "not JSON", "deep"],
)
def test_a_content_that_is_not_what_its_reference_says_is_named(
    path: Path, blobs: Blobs, content: bytes, kind: str
) -> None:
    reference: JsonObject = {"blob": blobs.put(content), "size": len(content), "media_type": kind}
    write_lines(path, renamed(reference), renamed("last", 2))
    events, damages = read_journal(path, blobs)
    assert [getattr(event, "title", "") for event in events] == ["[this content is missing on disk]", "last"]
    assert list(reasons(damages)) == [1]


def test_only_the_first_line_says_which_session_it_is_and_where_it_works(path: Path, blobs: Blobs) -> None:
    first = encode_event(SAMPLE_EVENTS[0])
    other = first | {"seq": 2, "session_id": "20260101-000000-000000", "workspace": "/etc"}
    write_lines(path, first, other, renamed("t", 3))
    events, damages = read_journal(path, blobs)
    transcript = replay(events)
    assert (transcript.session.session_id, transcript.session.workspace) == (ID, "/w")
    assert reasons(damages) == {2: "a second session_opened: only the first line may say where to work"}


def test_a_session_opened_that_comes_late_is_none(path: Path, blobs: Blobs) -> None:
    write_lines(path, renamed("t"), encode_event(SAMPLE_EVENTS[0]))
    events, damages = read_journal(path, blobs)
    assert replay(events).session.workspace == ""
    assert list(reasons(damages)) == [2]


def test_a_session_is_the_one_that_its_folder_is_named_after(path: Path, blobs: Blobs) -> None:
    write_lines(path, encode_event(SAMPLE_EVENTS[0]) | {"session_id": "20260101-000000-000000"})
    events, damages = read_journal(path, blobs)
    assert replay(events).session.session_id == ID
    assert "names another session" in reasons(damages)[1]


@pytest.mark.parametrize("what", ["journal", "folder", "pipe", "directory"])
def test_a_journal_that_leads_elsewhere_is_not_opened(path: Path, blobs: Blobs, tmp_path: Path, what: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside / ID / "journal.jsonl", blobs, records(1))
    before = (outside / ID / "journal.jsonl").read_bytes()
    if what == "journal":
        path.symlink_to(outside / ID / "journal.jsonl")
    elif what == "folder":
        path.parent.rmdir()
        path.parent.symlink_to(outside / ID)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StorageError):
        read_journal(path, blobs)
    with pytest.raises(StorageError):
        Journal.open(path, blobs)
    assert (outside / ID / "journal.jsonl").read_bytes() == before


def test_numbers_that_repeat_or_jump_are_read_and_the_next_record_gets_a_new_one(path: Path, blobs: Blobs) -> None:
    write_lines(
        path, encode_event(SAMPLE_EVENTS[0]), renamed("a", 9), renamed("b", 2), renamed("c", 2), renamed("d", -5)
    )
    events, damages = read_journal(path, blobs)
    assert damages == []
    assert replay(events).session.last_seq == 9


VALUES: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["/etc", ID, "a" * 64, "tool_use"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data())
def test_any_field_with_any_value_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """What the codec accepts (wrong types, missing fields, repeated ids), folds and openings accept, too."""
    folder = tmp_path_factory.mktemp("hostile")
    path, blobs = folder / ID / "journal.jsonl", Blobs(folder / "blobs")
    path.parent.mkdir()
    order = data.draw(st.lists(st.sampled_from(SAMPLE_EVENTS), min_size=1, max_size=12))
    content: list[bytes] = []
    for event in [SAMPLE_EVENTS[0], *order]:
        fields = encode_event(event)
        for name in data.draw(st.lists(st.sampled_from(sorted(fields)), max_size=2)):
            fields[name] = data.draw(VALUES)
        if data.draw(st.integers(0, 9)) == 0:
            del fields[data.draw(st.sampled_from(sorted(fields)))]
        content.append(json.dumps(fields).encode())
    write_lines(path, *content)
    events, damages = read_journal(path, blobs)
    assert len(events) + len({damage.line for damage in damages}) >= len(content)
    state = SessionState()
    for event in events:
        state.apply(event)
    journal, torn = Journal.open(path, blobs)
    journal.append(record(99), is_durable=False)
    journal.close()
    assert torn is None


def test_random_bytes_are_no_journal_and_no_crash(path: Path, blobs: Blobs) -> None:
    rng = random.Random(5)
    whole = "".join(json.dumps(encode_event(event)) + "\n" for event in SAMPLE_EVENTS).encode()
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 40)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        events, damages = read_journal(path, blobs)
        replay(events)
        assert len(events) + len(damages) >= damaged.count(b"\n")


def test_a_number_that_nothing_holds_is_named_and_never_sent_on(path: Path, blobs: Blobs) -> None:
    said = next(encode_event(event) for event in SAMPLE_EVENTS if isinstance(event, ev.MessageDone))
    call = {"type": "tool_use", "id": "c", "name": "t", "arguments": {"x": [0.5, {"y": "HUGE"}]}, "rejected": ""}
    line = json.dumps(said | {"content": [call]}).encode().replace(b'"HUGE"', b"1e400")
    write_lines(path, line, b'{"v":1e400,"type":"newer"}', renamed("right", seq=2))
    events, damages = read_journal(path, blobs)
    assert [event.type for event in events] == ["session_renamed"]
    assert reasons(damages) == {1: "a number is too large", 2: "a number is too large"}
