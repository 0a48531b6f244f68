"""AGENTS.md: its places, limits, refusals, and that unchanged files are not read twice."""

import os
from pathlib import Path

import pytest

from desktop_agent.core.extensions.instructions import MAX_BYTES, GuidanceReader
from desktop_agent.core.protocol.model import GuidanceFile
from desktop_agent.core.tools.secret_files import SecretNames
from tests.file_dates import LONG_AGO_NS, TO_COME_NS, put_date


class Folders:
    def __init__(self, base: Path) -> None:
        self.root = (base / "workspace").resolve()
        self.mine = base / "config"
        self.root.mkdir()
        self.mine.mkdir()
        self.reader = GuidanceReader(self.root, self.mine, SecretNames(self.root).secret_at)

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def files(self, *folders: str) -> dict[str, GuidanceFile]:
        return {file.path: file for file in self.reader.read(folders)[0]}

    def problems(self, *folders: str) -> list[str]:
        return [f"{problem.path}: {problem.reason}" for problem in self.reader.read(folders)[1]]


@pytest.fixture
def at(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_the_persons_own_comes_first_then_the_workspaces_then_those_of_folders(at: Folders) -> None:
    (at.mine / "AGENTS.md").write_text("mine")
    at.write("AGENTS.md", "root")
    at.write("src/AGENTS.md", "src")
    assert [(file.scope, file.text) for file in at.files("src", "none").values()] == [
        ("person", "mine"),
        ("workspace", "root"),
        ("folder", "src"),
    ]


def test_nothing_there_is_nothing_wrong(at: Folders) -> None:
    assert at.files() == {}
    assert at.problems() == []


def test_a_file_is_read_again_only_when_it_changed(at: Folders) -> None:
    path = at.write("AGENTS.md", "one")
    put_date(path, LONG_AGO_NS)
    first = at.files()["AGENTS.md"]
    assert at.files()["AGENTS.md"] is first
    path.write_text("other")
    assert at.files()["AGENTS.md"].text == "other"
    path.unlink()
    assert at.files() == {}


def test_a_change_within_one_step_of_the_files_clock_is_noticed(at: Folders) -> None:
    for text in ("one", "two"):
        put_date(at.write("AGENTS.md", text), TO_COME_NS)
        assert at.files()["AGENTS.md"].text == text


def test_a_long_file_is_cut_between_two_characters_and_says_so(at: Folders) -> None:
    at.write("AGENTS.md", "x" + "ł" * MAX_BYTES)
    file = at.files()["AGENTS.md"]
    assert file.is_cut
    assert file.text == "x" + "ł" * (MAX_BYTES // 2 - 1)
    assert at.problems() == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_at_the_beginning_says_how_it_is_written(at: Folders, encoding: str) -> None:
    at.write("AGENTS.md", "Zażółć".encode(encoding))
    assert at.files()["AGENTS.md"].text == "Zażółć"


def test_what_is_not_text_is_named(at: Folders) -> None:
    at.write("AGENTS.md", b"caf\xe9")
    assert at.files()["AGENTS.md"].text == "caf\ufffd"
    assert "not text in UTF-8" in at.problems()[0]


def test_a_link_inside_the_workspace_is_followed_and_one_out_of_it_is_not(at: Folders) -> None:
    at.write("CLAUDE.md", "shared")
    (at.root / "AGENTS.md").symlink_to("CLAUDE.md")
    assert at.files()["AGENTS.md"].text == "shared"
    outside = at.mine / "secret"
    outside.write_text("secret")
    (at.root / "AGENTS.md").unlink()
    (at.root / "AGENTS.md").symlink_to(outside)
    assert at.files() == {}
    assert "leads out of the workspace" in at.problems()[0]


def test_a_folder_that_is_a_link_out_of_the_workspace_brings_nothing(at: Folders) -> None:
    (at.mine / "AGENTS.md").write_text("mine")
    (at.root / "away").symlink_to(at.mine)
    assert "away/AGENTS.md" not in at.files("away")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_or_a_folder_in_its_place_does_not_hold_anything_up(at: Folders) -> None:
    os.mkfifo(at.root / "AGENTS.md")
    (at.root / "src" / "AGENTS.md").mkdir(parents=True)
    assert at.files("src") == {}
    assert [problem.partition(":")[0] for problem in at.problems("src")] == ["AGENTS.md", "src/AGENTS.md"]


def test_links_in_a_circle_are_a_problem_and_no_crash(at: Folders) -> None:
    (at.root / "AGENTS.md").symlink_to("AGENTS.md")
    assert at.files() == {}
    assert at.problems()


@pytest.mark.parametrize("path", ["a\0b/c", "a\ud800b/c", f"{'x' * 5_000}/c"], ids=["nul", "surrogate", "long"])
def test_a_path_that_can_be_none_brings_nothing_and_is_nothing_wrong(at: Folders, path: str) -> None:
    assert at.reader.read(at.reader.folders_of([path])) == ((), ())


def test_the_folders_of_a_file_are_those_around_it_outer_ones_first(at: Folders) -> None:
    at.write("src/deep/a.py", "")
    assert at.reader.folders_of(["src/deep/a.py"]) == ["src", "src/deep"]
    assert at.reader.folders_of(["src/deep", str(at.root / "src")]) == ["src", "src/deep"]
    assert at.reader.folders_of([".", "top.txt", "../other/x", "/etc/passwd"]) == []
