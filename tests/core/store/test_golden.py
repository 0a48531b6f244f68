"""Journals of all versions and earlier builds are readable for ever, with the same meaning.

`events.jsonl` beside each has the events as the writing program understood them, with long texts inline.
"""

import json
import shutil
from pathlib import Path
from typing import cast, get_args

import pytest

from desktop_agent.cli import main
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import replay
from tests.core.store.journals import reopen_and_append

GOLDEN = Path(__file__).with_name("golden")
NAMES = sorted(folder.name for folder in GOLDEN.iterdir())


def missing(expected: object, found: object, where: str = "") -> list[str]:
    """The paths of `expected` that `found` lacks. New fields are allowed."""
    if isinstance(expected, dict) and isinstance(found, dict):
        theirs = cast("JsonObject", found)
        return [
            problem
            for key, value in cast("JsonObject", expected).items()
            for problem in (missing(value, theirs[key], f"{where}.{key}") if key in theirs else [f"{where}.{key}"])
        ]
    if isinstance(expected, list) and isinstance(found, list):
        mine, theirs = cast("list[object]", expected), cast("list[object]", found)
        if len(mine) == len(theirs):
            pairs = enumerate(zip(mine, theirs, strict=True))
            return [problem for index, (a, b) in pairs for problem in missing(a, b, f"{where}[{index}]")]
    return [] if expected == found else [f"{where}: {expected!r} became {found!r}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_journal_says_what_it_always_said(name: str) -> None:
    folder = GOLDEN / name
    events, damages = read_journal(folder / "journal.jsonl", Blobs(folder / "blobs"))
    expected = [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
    assert damages == []
    assert not any(isinstance(event, ev.UnknownEvent) for event in events)
    assert len(events) == len(expected)
    assert [missing(line, encode_event(event)) for line, event in zip(expected, events, strict=True)] == [[]] * len(
        events
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_session_is_opened_and_goes_on(name: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / name)
    path, blobs = tmp_path / name / "journal.jsonl", Blobs(tmp_path / name / "blobs")
    before = path.read_bytes()
    transcript = replay(read_journal(path, blobs)[0])
    assert transcript.session.workspace == "/w"
    assert transcript.entries
    added = ev.SessionRenamed(title="on").stamped(transcript.session.last_seq + 1, ev.UNSTAMPED)
    assert reopen_and_append(path, blobs, added) is None
    assert path.read_bytes().startswith(before), "what is there is never rewritten"
    assert replay(read_journal(path, blobs)[0]).session.title == "on"


def test_the_golden_journal_of_this_version_has_every_event() -> None:
    folder = GOLDEN / f"v{ev.FORMAT_VERSION}"
    events, _ = read_journal(folder / "journal.jsonl", Blobs(folder / "blobs"))
    assert {type(event) for event in events} == set(get_args(ev.KnownEvent))


@pytest.mark.parametrize("of_it", [slice(0, 1), slice(1, None), slice(-1, None)], ids=["begun", "continued", "ended"])
def test_a_session_of_a_newer_version_is_told_and_not_touched(
    of_it: slice, isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del isolated_home
    paths, name = AppPaths.from_environment(), "20261129-120000-abcdef"
    session = paths.sessions / name
    shutil.copytree(GOLDEN / "v1", session)
    lines = (session / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[of_it] = [line.replace(b'{"v":1,', b'{"v":2,') for line in lines[of_it]]
    (session / "journal.jsonl").write_bytes(b"".join(lines) + b'{"v":2,"seq":')  # and it is being written
    before = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    for command in (
        ["run", "--resume", name, "--provider", "demo", "--prompt", "Go on"],
        ["sessions", "rename", name, "Mine"],
        ["sessions", "pin", name],
        ["changes", "undo", name],
    ):
        assert main(command) in (1, 2)
        assert "newer version" in capsys.readouterr().err
    assert main(["sessions", "show", name]) == 0
    assert "written by a newer version" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in session.rglob("*") if path.is_file() and path.name != "lock"} == before
