from typing import Any

from tests.cli.conftest import Command, RecordedSession

TEXT = b"".join(b"line %d\n" % number for number in range(60))
FIRST = (b"line 3\n", b"three\n")
SECOND = (b"line 30\n", b"")
THIRD = (b"line 50\n", b"line 50\nmore\n")


def edited(*edits: tuple[bytes, bytes]) -> bytes:
    content = TEXT
    for old, new in edits:
        content = content.replace(old, new)
    return content


def hunks(changes: Command, session: RecordedSession, path: str = "a.txt") -> list[dict[str, Any]]:
    (file,) = changes("list", session.id, "--file", path, "--hunks", "--json").json["files"]
    return file["hunks"]


def start(session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.write("a.txt", edited(FIRST, SECOND, THIRD))


def test_one_hunk_is_undone_by_its_number_and_done_again_by_its_key(changes: Command, session: RecordedSession) -> None:
    start(session)
    ran = changes("undo", session.id, "--file", "a.txt", "--hunk", "2", "--json")
    key = hunks(changes, session)[1]["key"]
    assert (ran.code, [(o["path"], o["hunks"]) for o in ran.json["outcomes"]]) == (0, [("a.txt", [key])])
    assert session.read("a.txt") == edited(FIRST, THIRD)
    assert [hunk["state"] for hunk in hunks(changes, session)] == ["standing", "undone", "standing"]
    assert changes("redo", session.id, "--file", "a.txt", "--hunk", key).code == 0
    assert session.read("a.txt") == edited(FIRST, SECOND, THIRD)
    assert {hunk["state"] for hunk in hunks(changes, session)} == {"standing"}


def test_several_hunks_are_undone_at_once_and_numbers_stay(changes: Command, session: RecordedSession) -> None:
    start(session)
    assert changes("undo", session.id, "--file", "a.txt", "--hunk", "3", "--hunk", "1").code == 0
    assert session.read("a.txt") == edited(SECOND)
    assert [hunk["number"] for hunk in hunks(changes, session)] == [1, 2, 3]
    listed = changes("list", session.id, "--file", "a.txt", "--json").json["changes"]
    assert listed[0]["state"] == "partly"
    assert listed[-1]["author"] == "undo"
    assert listed[-1]["reverts"][0]["id"] == "1.1"
    assert changes("undo", session.id, "--file", "a.txt", "--hunk", "2").code == 0
    assert session.read("a.txt") == TEXT


def test_a_hunk_that_clashes_is_left_alone_and_the_versions_are_told(
    changes: Command, session: RecordedSession
) -> None:
    start(session)
    mine = edited((b"line 3\n", b"mine\n"), SECOND, THIRD)
    (session.folder / "a.txt").write_bytes(mine)
    ran = changes("undo", session.id, "--file", "a.txt", "--hunk", "1", "--json")
    (outcome,) = ran.json["outcomes"]
    assert (ran.code, outcome["state"], outcome["clash"]["yours"]["size"]) == (1, "conflict", len(mine))
    said = changes("undo", session.id, "--file", "a.txt", "--hunk", "1")
    assert f"desktop-agent --resume {session.id}" in said.out
    assert session.read("a.txt") == mine


def test_a_hunk_of_a_renamed_file_is_undone_where_the_file_is(changes: Command, session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.rename("a.txt", "b.txt")
    session.write("b.txt", edited(FIRST, SECOND))
    assert len(hunks(changes, session, "b.txt")) == 2
    assert changes("undo", session.id, "--file", "b.txt", "--hunk", "1").code == 0
    assert session.read("b.txt") == edited(SECOND)
    assert not (session.folder / "a.txt").exists()


def test_a_file_that_was_only_renamed_goes_back_as_its_one_hunk(changes: Command, session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.rename("a.txt", "b.txt")
    assert changes("undo", session.id, "--file", "b.txt", "--hunk", "file").code == 0
    assert [path.name for path in session.folder.iterdir()] == ["a.txt"]


def test_the_mode_and_the_whole_of_a_binary_file_have_keys(changes: Command, session: RecordedSession) -> None:
    session.write("data.bin", b"\0\1")
    assert [hunk["key"] for hunk in hunks(changes, session, "data.bin")] == ["file"]
    assert changes("undo", session.id, "--file", "data.bin", "--hunk", "file").code == 0
    assert not (session.folder / "data.bin").exists()
