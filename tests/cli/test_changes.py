import os
import shutil
import subprocess
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Author, ChangeSelection
from tests.cli.conftest import Command, RecordedSession
from tests.command_line import PROGRAM, main
from tests.odd_names import ODD_NAMES

TEXT = b"".join(b"line %d\n" % number for number in range(40))
EDITED = TEXT.replace(b"line 3\n", b"three\n").replace(b"line 30\n", b"")


def apply(folder: Path, patch: bytes) -> None:
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True, env=environment)  # noqa: TID251 - git


def test_the_list_has_every_change_with_its_author_turn_and_call(changes: Command, session: RecordedSession) -> None:
    (session.folder / "b.txt").write_bytes(b"b\n")
    session.write("a.txt", b"a\n")
    session.write("b.txt", b"mine\n", turn=2, author="person")
    session.write("b.txt", b"\0", turn=2, author="shell")
    listed = changes("list", session.id, "--json").json["changes"]
    keys = ("id", "path", "kind", "author", "turn", "call", "added", "removed", "state", "is_binary", "file_kind")
    assert [tuple(change[key] for key in keys) for change in listed] == [
        ("1.1", "a.txt", "created", "agent", 1, "call-1", 1, 0, "standing", False, "file"),
        ("2.1", "b.txt", "modified", "person", 2, "call-2", 1, 1, "standing", False, "file"),
        ("2.2", "b.txt", "modified", "shell", 2, "call-3", 0, 0, "standing", True, "file"),
    ]
    assert changes("list", session.id[-6:]).out.splitlines() == [
        "1.1  standing  agent   created       +1  -0  a.txt",
        "2.1  standing  person  modified      +1  -1  b.txt",
        "2.2  standing  shell   modified  binary      b.txt",
    ]


def test_no_name_makes_up_a_row_or_turns_the_direction_of_writing(changes: Command, session: RecordedSession) -> None:
    session.write("a\n9.9  standing  agent   deleted       +0  -9  precious", b"a\n")
    session.write("photo\u202egpj.exe\u2066\x1b[2J", b"a\n")
    session.write("tab\there\u2028there", b"a\n")
    assert changes("list", session.id).out.splitlines() == [
        r'1.1  standing  agent  created  +1  -0  "a\n9.9  standing  agent   deleted       +0  -9  precious"',
        r'1.2  standing  agent  created  +1  -0  "photo\342\200\256gpj.exe\342\201\246\033[2J"',
        r'1.3  standing  agent  created  +1  -0  "tab\there\342\200\250there"',
    ]
    undone = changes("undo", session.id).out.splitlines()
    assert sorted(undone) == sorted(set(undone))
    assert [line for line in undone if "9.9" in line] == [
        r'removed "a\n9.9  standing  agent   deleted       +0  -9  precious"'
    ]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (("--turn", "2"), ["2.1", "2.2"]),
        (("--since", "2"), ["2.1", "2.2", "3.1"]),
        (("--call", "call-3"), ["2.2"]),
        (("--file", "a.txt"), ["1.1", "2.2"]),
        (("--file", "a.txt", "--since", "2"), ["2.2"]),
        (("--file", "nope"), []),
    ],
)
def test_the_options_narrow_it_down(
    changes: Command, session: RecordedSession, options: tuple[str, ...], ids: list[str]
) -> None:
    for turn, path in ((1, "a.txt"), (2, "b.txt"), (2, "a.txt"), (3, "c.txt")):
        session.write(path, b"%d\n" % turn, turn=turn)
    listed = changes("list", session.id, *options, "--json").json["changes"]
    assert [change["id"] for change in listed] == ids


def test_a_rename_is_named_on_both_sides_and_found_by_either_path(changes: Command, session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.rename("a.txt", "b.txt")
    session.write("b.txt", EDITED)
    listed = changes("list", session.id, "--json").json["changes"]
    assert [(c["path"], c["kind"], c["moved_from"], c["moved_to"]) for c in listed] == [
        ("a.txt", "deleted", None, "b.txt"),
        ("b.txt", "renamed", "a.txt", None),
        ("b.txt", "modified", None, None),
    ]
    for path in ("a.txt", "b.txt"):
        assert changes("list", session.id, "--file", path, "--json").json["changes"] == listed
    assert "a.txt → b.txt" in changes("list", session.id).out


def test_what_could_not_be_recorded_is_named_with_the_reason(changes: Command, session: RecordedSession) -> None:
    session.miss("big.iso", "it is too large", turn=2)
    document = changes("list", session.id, "--json").json
    assert document["changes"] == []
    assert document["uncaptured"] == [{"path": "big.iso", "reason": "it is too large", "turn": 2, "call": "call-1"}]
    assert "big.iso (it is too large; turn 2)" in changes("list", session.id).out
    assert changes("list", session.id, "--turn", "1", "--json").json["uncaptured"] == []


def test_undone_and_partly_undone_changes_say_so(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"a\n")
    session.tell(ev.ChangesUndone(selection=ChangeSelection(), change_ids=("1.1",), outcomes=()))
    (change,) = changes("list", session.id, "--json").json["changes"]
    assert change["state"] == "undone"


def test_the_hunks_of_a_file_are_listed_with_number_and_key(changes: Command, session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.write("a.txt", EDITED)
    session.write("data.bin", b"\0")
    document = changes("list", session.id, "--hunks", "--json").json
    text, binary = document["files"]
    assert (text["path"], text["state"], text["authors"], text["ids"]) == ("a.txt", "standing", ["agent"], ["1.1"])
    shown = [(h["number"], h["state"], h["kept"], h["old_start"], h["old_count"], h["title"]) for h in text["hunks"]]
    assert shown == [
        (1, "standing", False, 1, 7, "@@ -1,7 +1,7 @@"),
        (2, "standing", False, 28, 7, "@@ -28,7 +28,6 @@"),
    ]
    assert [(hunk["key"], hunk["title"]) for hunk in binary["hunks"]] == [("file", "the whole file")]
    keys = [hunk["key"] for hunk in text["hunks"]]
    session.tell(ev.ReviewMarked(path="a.txt", hunks=(keys[1],), state="kept"))
    said = changes("list", session.id, "--file", "a.txt", "--hunks").out
    assert said.splitlines()[1:] == [
        "",
        "a.txt",
        f"  1  {keys[0]}  standing        @@ -1,7 +1,7 @@",
        f"  2  {keys[1]}  standing, kept  @@ -28,7 +28,6 @@",
    ]


def test_the_patch_of_a_session_makes_the_files_anew(session: RecordedSession, tmp_path: Path) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    (session.folder / "old name").write_bytes(b"\xff latin\r\n")
    copy = Path(shutil.copytree(session.folder, tmp_path / "copy"))
    session.write("a.txt", EDITED)
    session.write("new.bin", bytes(range(256)))
    session.rename("old name", "new name", turn=2)
    session.write("new name", b"\xfe latin\r\nmore", turn=2)
    patch = subprocess.run(  # noqa: TID251 - bytes, as a shell gets them
        [*PROGRAM, "changes", "diff", session.id], capture_output=True, check=True
    ).stdout
    apply(copy, patch)
    held = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert held == {path.name: path.read_bytes() for path in session.folder.iterdir()}
    assert b"rename from old name\nrename to new name\n" in patch


def test_the_patch_in_json_is_the_very_same(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"\xff\n")
    document = changes("diff", session.id, "--json").json
    assert document["files"] == ["a.txt"]
    folder = session.folder.parent / "empty"
    folder.mkdir()
    apply(folder, document["patch"].encode("utf-8", "surrogateescape"))
    assert (folder / "a.txt").read_bytes() == b"\xff\n"


def test_what_the_person_did_is_not_in_the_patch(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"a\n")
    session.write("mine.txt", b"mine\n", author="person")
    assert changes("diff", session.id, "--json").json["files"] == ["a.txt"]


def test_undo_and_redo_of_everything_since_a_turn(changes: Command, session: RecordedSession) -> None:
    for turn in (1, 2, 3):
        session.write(f"{turn}.txt", b"%d\n" % turn, turn=turn)
    assert changes("undo", session.id, "--since", "2").code == 0
    assert sorted(path.name for path in session.folder.iterdir()) == ["1.txt"]
    assert changes("redo", session.id, "--since", "3").code == 0
    assert sorted(path.name for path in session.folder.iterdir()) == ["1.txt", "3.txt"]


def test_a_renamed_file_goes_back_as_a_whole_by_its_name(changes: Command, session: RecordedSession) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.write("other.txt", b"stays\n")
    session.rename("a.txt", "b.txt")
    assert changes("undo", session.id, "--file", "b.txt").code == 0
    assert sorted(path.name for path in session.folder.iterdir()) == ["a.txt", "other.txt"]
    assert session.read("a.txt") == TEXT


def test_a_dry_run_writes_nothing(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"a\n")
    ran = changes("undo", session.id, "--dry-run", "--json")
    assert (ran.code, ran.json["dry_run"]) == (0, True)
    assert [(o["path"], o["state"], o["hunks"], o["clash"]) for o in ran.json["outcomes"]] == [
        ("a.txt", "restored", [], None)
    ]
    assert session.read("a.txt") == b"a\n"


def test_what_was_not_done_ends_with_code_1_and_says_why(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"a\n")
    (session.folder / "a.txt").write_bytes(b"mine\n")
    ran = changes("undo", session.id)
    assert ran.code == 1
    assert ran.out.startswith("left alone: a.txt (")
    assert session.read("a.txt") == b"mine\n"


def test_nothing_to_undo_is_no_failure(changes: Command, session: RecordedSession) -> None:
    ran = changes("undo", session.id, "--file", "nope")
    assert (ran.code, ran.out) == (0, "There is nothing to undo.\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--hunk", "1"), "A hunk needs its file"),
        (("--hunk", "1", "--file", "nope"), "There is no change of nope"),
        (("--hunk", "3", "--file", "a.txt"), "no hunk '3'"),
        (("--hunk", "0123456789abcdef", "--file", "a.txt"), "no hunk '0123456789abcdef'"),
        (("--turn", "1", "--since", "1"), "not allowed with"),
        (("--turn", "0"), "1 or more"),
    ],
)
def test_bad_usage_gets_a_clear_word_and_code_2(
    changes: Command, session: RecordedSession, options: tuple[str, ...], says: str
) -> None:
    (session.folder / "a.txt").write_bytes(TEXT)
    session.write("a.txt", EDITED)
    ran = changes("undo", session.id, *options)
    assert ran.code == 2
    assert says in ran.err
    assert session.read("a.txt") == EDITED


def test_a_hunk_of_a_file_in_another_encoding_is_undone_byte_for_byte(
    changes: Command, session: RecordedSession
) -> None:
    old = [f"Größe {number} für die Straße\r\n".encode("cp1252") for number in range(40)]
    (session.folder / "alt.txt").write_bytes(b"".join(old))
    session.write("alt.txt", b"".join(old).replace(b" 5 ", b" f\xfcnf ").replace(b" 30 ", b" drei\xdfig "))
    patch = changes("diff", session.id, "--json").json["patch"].encode("utf-8", "surrogateescape")
    assert b"+Gr\xf6\xdfe f\xfcnf f" in patch
    assert changes("undo", session.id, "--file", "alt.txt", "--hunk", "1").code == 0
    assert session.read("alt.txt") == b"".join(old).replace(b" 30 ", b" drei\xdfig ")
    assert changes("redo", session.id).code == 0
    assert changes("undo", session.id).code == 0
    assert session.read("alt.txt") == b"".join(old)


def test_only_an_undo_can_recover(changes: Command, session: RecordedSession) -> None:
    session.write("a.txt", b"a\n")
    assert changes("redo", session.id, "--recover").code == 2
    assert changes("undo", session.id, "--recover", "--reason", "not what I meant").code == 0
    assert not (session.folder / "a.txt").exists()
    assert Workbench.from_environment().catalog.find(session.id) == session.id


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_names_that_are_no_text_go_through_every_command(changes: Command, session: RecordedSession) -> None:
    old, new, deep = "old-\udcff", "new-\udcfe", "d\udcf0/caf\udce9"
    (session.folder / old).write_bytes(b"one\n")
    session.rename(old, new)
    session.write(deep, b"two\n")
    session.write("gone-\udcff", b"x\n")
    session.write("gone-\udcff", None)
    told = changes("list", session.id).out
    assert [name in told for name in (r'"old-\377"', r'"new-\376"', r'"d\360/caf\351"')] == [True] * 3
    listed = changes("list", session.id, "--json").json["changes"]
    spelled = [r'"old-\377"', r'"new-\376"', r'"d\360/caf\351"', r'"gone-\377"', r'"gone-\377"']
    assert [change["path"] for change in listed] == spelled
    patch = changes("diff", session.id, "--json").json["patch"].encode("utf-8", "surrogateescape")
    there = session.folder.parent / "elsewhere"
    there.mkdir()
    (there / old).write_bytes(b"one\n")
    apply(there, patch)
    assert (there / new).read_bytes() == b"one\n"
    assert (there / deep).read_bytes() == b"two\n"
    assert changes("undo", session.id).code == 0
    assert (session.folder / old).read_bytes() == b"one\n"
    assert not (session.folder / deep).exists()
    assert changes("redo", session.id).code == 0
    assert session.read(deep) == b"two\n"
    assert changes("undo", session.id, "--file", deep).code == 0
    assert not (session.folder / deep).exists()
    for form in ("md", "html", "jsonl", "patch"):
        target = session.folder.parent / f"export.{form}"
        assert main(["sessions", "export", session.id, "--format", form, "--output", str(target)]) == 0
        assert target.read_bytes()
        assert form in ("jsonl", "patch") or rb"d\360/caf\351" in target.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be made there")
def test_every_odd_name_that_is_printed_can_be_given_back(changes: Command, session: RecordedSession) -> None:
    for name in ODD_NAMES:
        session.write(name, b"x\n")
    listed = changes("list", session.id, "--json")
    listed.out.encode()
    paths = [change["path"] for change in listed.json["changes"]]
    printed = [line.split("-0  ")[1] for line in changes("list", session.id).out.splitlines()]
    for name, *spellings in zip(ODD_NAMES, paths, printed, strict=True):
        for path in spellings:
            found = changes("list", session.id, f"--file={path}", "--json").json["changes"]
            assert {change["path"] for change in found} == {spellings[0]}
        in_json, shown = spellings
        assert changes("diff", session.id, f"--file={shown}", "--json").json["files"] == [in_json]
        (outcome,) = changes("undo", session.id, f"--file={in_json}", "--hunk", "1", "--json").json["outcomes"]
        assert (outcome["path"], outcome["state"]) == (in_json, "restored")
        assert not (session.folder / name).exists()
        assert changes("redo", session.id, f"--file={shown}").out.rstrip() == f"restored {shown}"
        assert session.read(name) == b"x\n"
    refused = changes("undo", session.id, r'--file="caf\352.txt"', "--hunk", "1", "--json")
    assert (refused.code, refused.json["error"]["title"]) == (2, r'There is no change of "caf\352.txt" there.')


@pytest.mark.parametrize("author", ["person", "unknown"])
def test_what_is_not_the_agents_is_undone_only_if_that_is_included(
    changes: Command, session: RecordedSession, author: Author
) -> None:
    session.write("agents.txt", b"a\n")
    session.write("theirs.txt", b"b\n", author=author)
    left = changes("undo", session.id, "--file", "theirs.txt")
    assert left.code == 1
    assert "left alone: theirs.txt" in left.out
    assert "--include-others" in left.out
    assert (session.folder / "theirs.txt").read_bytes() == b"b\n"
    told = changes("undo", session.id).out
    assert ("theirs.txt" in told) is (author == "unknown"), "it is told of what the user might take for the agent's"
    assert not (session.folder / "agents.txt").exists()
    assert (session.folder / "theirs.txt").exists()
    assert changes("undo", session.id, "--file", "theirs.txt", "--include-others").code == 0
    assert not (session.folder / "theirs.txt").exists()
    assert changes("redo", session.id).code == 0
    assert (session.folder / "theirs.txt").read_bytes() == b"b\n"


@pytest.mark.parametrize("kind", ["missing", "a file", "another folder"])
@pytest.mark.parametrize(
    "words", [["undo"], ["undo", "--dry-run"], ["redo"], ["redo", "--all"], ["redo", "--turn", "1"]]
)
def test_a_session_whose_folder_is_not_there_is_refused_in_words(
    changes: Command, session: RecordedSession, kind: str, words: list[str]
) -> None:
    session.write("a.txt", b"one\n")
    session.folder.rename(session.folder.with_name("moved"))
    if kind == "a file":
        session.folder.write_bytes(b"a file")
    elif kind == "another folder":
        session.folder.mkdir()
        (session.folder / "a.txt").write_bytes(b"one\n")
    ran = changes(words[0], session.id, *words[1:])
    assert ran.code == 2
    assert str(session.folder) in ran.err
    assert "Restore the folder" in ran.err
    if kind == "another folder":
        assert session.read("a.txt") == b"one\n"
        assert changes(words[0], session.id, *words[1:], "--accept-folder").code in (0, 1)
