"""The patch of a session makes the files of what they were before it."""

import subprocess
from pathlib import Path

from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, TextBlock
from tests.core.export.conftest import Written


def applied(folder: Path, patch: bytes) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: TID251 - a real git
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True)  # noqa: TID251 - a real git


def test_git_applies_the_net_of_all_changes(written: Written, tmp_path: Path) -> None:
    first = written.change("1.1", "a.txt", b"one\n", b"two\n")
    second = written.change("1.2", "a.txt", b"two\n", b"three\n")
    made = written.change("1.3", "new.bin", None, b"\x00\x01")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(ev.ChangesRecorded(turn=1, call_id="", changes=(first, second, made)))
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_bytes(b"one\n")
    applied(tmp_path / "repo", b"".join(export_text(written.path, "patch", written.blobs)))
    assert (tmp_path / "repo" / "a.txt").read_bytes() == b"three\n"
    assert (tmp_path / "repo" / "new.bin").read_bytes() == b"\x00\x01"


def test_what_was_taken_back_is_not_in_it(written: Written) -> None:
    change = written.change("1.1", "a.txt", b"one\n", b"two\n")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(
        ev.ChangesRecorded(turn=1, call_id="", changes=(change,)),
        ev.ChangesUndone(selection=ChangeSelection(), change_ids=("1.1",), outcomes=()),
    )
    assert b"".join(export_text(written.path, "patch", written.blobs)) == b""


def test_a_key_in_a_file_stays_as_it_is(written: Written) -> None:
    change = written.change("1.1", "a.txt", None, b"sk-ant-abcdefghijklmnop\n")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(ev.ChangesRecorded(turn=1, call_id="", changes=(change,)))
    assert b"+sk-ant-abcdefghijklmnop" in b"".join(export_text(written.path, "patch", written.blobs))
