"""An edited index has the bytes that git writes. Where we do not know them, it is left to git."""

import os
import shutil
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.system.git.index_file import edited, spans
from tests.core.system.conftest import Git

Files = Mapping[str, tuple[str, str] | None]
PATHS = ("a", "a-b", "a.c", "a0", "a/x", "b", "b/c", "b/d/e", "b/d/f", "b-d", "ü/x", "z")
LONG = "/".join(["long" * 50] * 25)
OLD_S = 1_000_000_000


def without_clashes(paths: Collection[str]) -> set[str]:
    return {path for path in paths if not any(path.startswith(f"{one}/") for one in paths)}


SETS = st.sets(st.sampled_from(PATHS)).map(without_clashes)
FILE = st.tuples(st.sampled_from(("100644", "100755", "120000")), st.sampled_from(("1" * 40, "ab" * 20)))


def fill(folder: Path, paths: set[str]) -> Path:
    """Make a repository in which these files are committed, and return its index. The files are older."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.check_call(["git", *identity, *arguments], cwd=folder)

    git("init", "-q")
    for path in paths:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)
        os.utime(place, (OLD_S, OLD_S))
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "first")
    return folder / ".git/index"


def by_git(index: Path, files: Files) -> bytes:
    copy = index.with_name("copy")
    shutil.copy2(index, copy)
    named = {path: " ".join(file or ("0" * 6, "0" * 40)) for path, file in files.items()}
    lines = [f"{named[path]}\t{path}\0" for path in sorted(files, key=lambda path: files[path] is not None)]
    subprocess.run(  # noqa: TID251 - nothing else runs meanwhile
        ["git", "update-index", "-z", "--index-info"], cwd=index.parent.parent, input="".join(lines).encode(),
        env={**os.environ, "GIT_INDEX_FILE": str(copy)}, check=True,
    )  # fmt: skip
    return copy.read_bytes()


def ours(index: Path, files: Files) -> bytes:
    return edited(index.read_bytes(), index.stat().st_mtime_ns // 10**9, files)


@settings(max_examples=60)
@given(SETS, SETS.flatmap(lambda paths: st.fixed_dictionaries({path: st.none() | FILE for path in paths})))
def test_an_edited_index_has_the_bytes_that_git_writes(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], files: Files
) -> None:
    index = fill(tmp_path_factory.mktemp("repository"), paths)
    added = files.keys() - paths
    if any(one.startswith(f"{path}/") or path.startswith(f"{one}/") for path in added for one in paths):
        with pytest.raises(ValueError, match="takes the place"):
            ours(index, files)
    else:
        assert ours(index, files) == by_git(index, files)


def test_a_path_that_is_longer_than_its_counter(folder: Path) -> None:
    index, files = fill(folder, {"a"}), {LONG: ("100644", "1" * 40), "b": ("100644", "1" * 40)}
    assert ours(index, files) == by_git(index, files)
    assert [path for path, _, _ in spans(by_git(index, files))] == [b"a", b"b", LONG.encode()]


def test_files_that_git_assumes_valid_stay_so_until_they_change(folder: Path, git: Git) -> None:
    index = fill(folder, {"a", "b"})
    git("update-index", "--assume-unchanged", "a", "b")
    assert ours(index, {"a": ("100644", "1" * 40)}) == by_git(index, {"a": ("100644", "1" * 40)})


@pytest.mark.parametrize(
    "script",
    [
        "touch a && git add a && touch -r a .git/index",
        "git update-index --untracked-cache --force-untracked-cache",
        "git update-index --split-index",
        "git update-index --index-version 4",
        "touch new && git add --intent-to-add new",
    ],
)
def test_what_we_cannot_keep_up_to_date_is_left_to_git(folder: Path, script: str) -> None:
    index = fill(folder, {"a", "b/c"})
    subprocess.check_call(["sh", "-c", script], cwd=folder)
    with pytest.raises(ValueError, match=r"young|extension|version 2"):
        ours(index, {"a": None})


def test_a_damaged_index_is_left_to_git(folder: Path) -> None:
    content = bytearray(fill(folder, {"a"}).read_bytes())
    content[40] ^= 1
    with pytest.raises(ValueError, match="version 2"):
        edited(bytes(content), OLD_S + 1, {"a": None})
