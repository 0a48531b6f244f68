"""`desktop-agent changes redo`: one, several or all undos are redone."""

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection
from tests.cli.conftest import Command, RecordedSession

TEXT = b"".join(b"line %d\n" % number for number in range(40))
EDITED = TEXT.replace(b"line 3\n", b"three\n").replace(b"line 30\n", b"thirty\n")
SECOND_ONLY = TEXT.replace(b"line 30\n", b"thirty\n")


@pytest.fixture
def undone(changes: Command, session: RecordedSession) -> RecordedSession:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.write("a.txt", EDITED)
    assert changes("undo", session.id, "--file", "a.txt", "--hunk", "1").code == 0
    assert changes("undo", session.id, "--turn", "1").code == 0
    assert session.read("a.txt") == TEXT
    return session


def test_redo_takes_back_the_last_undo_exactly_and_then_the_one_before(
    changes: Command, undone: RecordedSession
) -> None:
    assert changes("redo", undone.id, "--dry-run").out.splitlines()[1:] == ["restored a.txt"]
    assert undone.read("a.txt") == TEXT
    assert changes("redo", undone.id).code == 0
    assert undone.read("a.txt") == SECOND_ONLY
    (change, *_) = changes("list", undone.id, "--json").json["changes"]
    assert change["state"] == "partly"
    assert changes("redo", undone.id).code == 0
    assert undone.read("a.txt") == EDITED
    nothing = changes("redo", undone.id)
    assert (nothing.code, nothing.out) == (0, "There is nothing to redo.\n")


def test_the_undos_are_listed_and_any_of_them_is_taken_back(changes: Command, undone: RecordedSession) -> None:
    last, first = changes("redo", undone.id, "--steps", "--json").json["steps"]
    assert (last["files"], last["change_ids"]) == (first["files"], first["change_ids"]) == (["a.txt"], ["1.1"])
    listed = changes("redo", undone.id, "--steps").out.splitlines()
    assert [line.split("  ")[-1] for line in listed] == ["turn 1: a.txt", "turn 1: a part of a.txt"]
    assert changes("redo", undone.id, "--step", str(first["step"])).code == 0
    assert undone.read("a.txt") == TEXT.replace(b"line 3\n", b"three\n")
    gone = changes("redo", undone.id, "--step", str(first["step"]))
    assert (gone.code, f"no undo {first['step']}" in gone.err) == (2, True)


def test_all_undos_are_taken_back_in_one(changes: Command, undone: RecordedSession) -> None:
    assert changes("redo", undone.id, "--all").code == 0
    assert undone.read("a.txt") == EDITED
    assert changes("redo", undone.id, "--steps").out == "There is no undo that can be redone.\n"


@pytest.mark.parametrize("options", [("--all", "--turn", "1"), ("--steps", "--file", "a.txt"), ("--all", "--steps")])
def test_undos_and_changes_are_not_named_at_once(
    changes: Command, undone: RecordedSession, options: tuple[str, ...]
) -> None:
    assert changes("redo", undone.id, *options).code == 2


def test_an_undo_of_a_journal_of_old_is_redone_by_what_it_undid(changes: Command, session: RecordedSession) -> None:
    """An old journal did not record what the undo wrote, so the exact state before is unknown."""
    session.write("a.txt", b"a\n")
    (session.folder / "a.txt").unlink()
    session.tell(ev.ChangesUndone(selection=ChangeSelection(), change_ids=("1.1",), outcomes=()))
    assert changes("redo", session.id).code == 0
    assert session.read("a.txt") == b"a\n"
