import json
import os
from pathlib import Path

import pytest

from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from tests.command_line import CommandLine

TEXT = b"def kept(value):\n    return value\n" * 2000
SESSION = "20261121-213700-k3f9qx"


@pytest.fixture
def data(isolated_home: Path) -> Path:
    data = isolated_home / "desktop-agent" / "data"
    blobs = Blobs(data / "blobs")
    journal = data / "sessions" / SESSION / JOURNAL_NAME
    journal.parent.mkdir(parents=True)
    journal.write_text(json.dumps({"digest": blobs.put(TEXT)}) + "\n")
    lost = blobs.put(b"nobody's")
    os.utime(data / "blobs" / lost, (0, 0))
    return data


def blob_files(data: Path) -> list[Path]:
    return [path for path in (data / "blobs").rglob("*") if path.is_file()]


def test_it_shows_what_is_kept_and_for_whom(run: CommandLine, data: Path) -> None:
    shown = run.done("storage").out
    assert "2 contents: " in shown
    assert "unpacked 68.0 kB" in shown
    assert "Needed by no session: 1, 8 bytes." in shown
    assert SESSION in shown
    assert len(blob_files(data)) == 2


def test_programs_read_the_same_as_numbers(run: CommandLine, data: Path) -> None:
    document = run.done("storage", "show", "--json").json
    assert (document["blobs"], document["unreferenced"], document["unreferenced_bytes"]) == (2, 1, 8)
    assert document["blob_bytes"] == sum(path.stat().st_size for path in blob_files(data))
    [session] = document["sessions"]
    assert session["name"] == SESSION
    assert session["own_bytes"] == document["blob_bytes"] - 8


def test_a_dry_run_removes_nothing_and_a_real_one_does(run: CommandLine, data: Path) -> None:
    assert "Would remove 1 file that no session needs: 8 bytes." in run.done("storage", "collect", "--dry-run").out
    assert len(blob_files(data)) == 2
    document = run.done("storage", "collect", "--json").json
    assert document == {"removed": 1, "removed_bytes": 8, "kept_young": 0, "dry_run": False}
    assert len(blob_files(data)) == 1


def test_it_refuses_while_a_session_cannot_be_read(run: CommandLine, data: Path) -> None:
    (data / "sessions" / "linked").symlink_to(data / "nowhere")
    ran = run("storage", "collect")
    assert (ran.code, "Nothing was removed." in ran.err) == (1, True)
    assert len(blob_files(data)) == 2


def test_a_dry_show_is_asked_for_wrongly(run: CommandLine) -> None:
    ran = run("storage", "show", "--dry-run")
    assert (ran.code, "--dry-run" in ran.err) == (2, True)


def test_nothing_stored_yet_is_no_error(run: CommandLine) -> None:
    assert "0 contents: 0 bytes" in run.done("storage").out
