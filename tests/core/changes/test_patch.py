"""A patch is right when git makes the new bytes of the old ones with it."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.changes.patch import patch_text
from desktop_agent.core.model import FileDiff

if TYPE_CHECKING:
    from tests.core.changes.conftest import MakeDiff

GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")

content = st.lists(
    st.sampled_from(
        [b"a\n", b"b\n", b"c\r\n", b"\n", b"- x\n", b"+\n", b"\\ No\n", b"\xff\n", b"d\n", b"@@ -1 +1 @@\n"]
    )
).map(b"".join)
loose_content = st.tuples(content, st.sampled_from([b"", b"", b"end"])).map(b"".join)


def apply(folder: Path, *diffs: FileDiff) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    result = subprocess.run(  # noqa: TID251 - a test may wait for git
        [GIT, "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=patch_text(diffs),
        capture_output=True,
        check=False,
        env={**environment, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    assert result.returncode == 0, (result.stderr, patch_text(diffs))


def write(folder: Path, path: str, content: bytes, mode: int = 0o644) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    return file


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.none() | loose_content, after=st.none() | loose_content)
def test_git_makes_the_new_bytes_of_the_old_ones(
    tmp_path: Path, make_diff: "MakeDiff", before: bytes | None, after: bytes | None
) -> None:
    """Z-80: headers, hunks, missing newlines, created and deleted files."""
    if before == after:
        return
    file = tmp_path / "src" / "app.py"
    file.unlink(missing_ok=True)
    if before is not None:
        write(tmp_path, "src/app.py", before)
    apply(tmp_path, make_diff(before, after))
    assert (file.read_bytes() if file.exists() else None) == after


@pytest.mark.parametrize(
    "path",
    ["with space.txt", 'quo"te.txt', "back\\slash", "tab\there", "żółć.txt", "new\nline", "bad\udcff", "a b/c d"],
)
def test_any_path_survives_the_quoting(tmp_path: Path, make_diff: "MakeDiff", path: str) -> None:
    file = write(tmp_path, path, b"old\n")
    apply(tmp_path, make_diff(b"old\n", b"new\n", path=path))
    assert file.read_bytes() == b"new\n"


def test_several_files_go_in_one_patch(tmp_path: Path, make_diff: "MakeDiff") -> None:
    edited = write(tmp_path, "edited", b"1\n2\n3\n")
    deleted = write(tmp_path, "deleted", b"gone")
    apply(
        tmp_path,
        make_diff(b"1\n2\n3\n", b"1\ntwo\n3\n", path="edited"),
        make_diff(b"gone", None, path="deleted"),
        make_diff(None, b"hello", path="sub/created"),
        make_diff(None, b"", path="empty"),
    )
    assert edited.read_bytes() == b"1\ntwo\n3\n"
    assert not deleted.exists()
    assert (tmp_path / "sub/created").read_bytes() == b"hello"
    assert (tmp_path / "empty").read_bytes() == b""


def test_modes_are_part_of_the_patch(tmp_path: Path, make_diff: "MakeDiff") -> None:
    changed = write(tmp_path, "changed", b"a\n")
    apply(
        tmp_path,
        make_diff(b"a\n", b"a\n", path="changed", modes=(0o644, 0o755)),
        make_diff(None, b"#!/bin/sh\n", path="created", modes=(0o644, 0o755)),
    )
    assert changed.stat().st_mode & 0o111
    assert (tmp_path / "created").stat().st_mode & 0o111


def test_a_file_that_became_a_symlink_becomes_one(tmp_path: Path, make_diff: "MakeDiff") -> None:
    file = write(tmp_path, "link", b"text\n")
    apply(tmp_path, make_diff(b"text\n", b"target", path="link", kinds=("file", "symlink")))
    assert file.is_symlink()
    assert file.readlink() == Path("target")


def test_a_conversion_of_line_endings_is_a_patch_too(tmp_path: Path, make_diff: "MakeDiff") -> None:
    before = b"".join(b"line %d\r\n" % number for number in range(30))
    after = before.replace(b"\r\n", b"\n").replace(b"line 12", b"changed")
    file = write(tmp_path, "dos.txt", before)
    apply(tmp_path, make_diff(before, after, path="dos.txt"))
    assert file.read_bytes() == after


def test_a_binary_file_is_named_and_does_not_stop_the_others(tmp_path: Path, make_diff: "MakeDiff") -> None:
    file = write(tmp_path, "a.txt", b"a\n")
    binary = make_diff(b"\0", b"\0\0", path="data.bin")
    assert b"data.bin" in patch_text([binary])
    apply(tmp_path, binary, make_diff(b"a\n", b"b\n", path="a.txt"))
    assert file.read_bytes() == b"b\n"


def test_nothing_that_git_records_means_no_patch(make_diff: "MakeDiff") -> None:
    assert patch_text([make_diff(b"a\n", b"a\n", modes=(0o644, 0o600)), make_diff(None, None)]) == b""
