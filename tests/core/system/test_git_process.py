"""Git status on real repositories, and the parser on all of git's outputs."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.system.git import git_process
from desktop_agent.core.system.git.git_process import (
    LISTING,
    harmless_config,
    list_files,
    parse_status,
    query_status,
)
from desktop_agent.core.system.git.git_process import status_of as status_of_found
from desktop_agent.core.system.git.repository import FileStatus, NoStatus, RepoStatus, find_repository, plain_settings
from tests.core.system.conftest import Git
from tests.harness import PATIENCE_S


def commit(git: Git, folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", "a commit")


async def status_of(folder: Path) -> RepoStatus:
    status = await query_status(folder)
    assert isinstance(status, RepoStatus)
    return status


def states(status: RepoStatus) -> dict[str, str]:
    return {path: file.state for path, file in status.files.items()}


# --- branches -----------------------------------------------------------------------------------------------------


async def test_a_branch_has_a_name_without_a_commit_and_a_detached_head_is_none(folder: Path, git: Git) -> None:
    assert (await status_of(folder)).branch == "main"
    commit(git, folder, a__txt="one\n")
    git("checkout", "-q", "--detach")
    assert (await status_of(folder)).branch == ""


# --- files --------------------------------------------------------------------------------------------------------


async def test_every_kind_of_change_is_told_apart(folder: Path, git: Git) -> None:
    commit(git, folder, changed="1\n", staged="1\n", gone="1\n", gone_staged="1\n", old_name="long enough\n" * 9)
    (folder / "changed").write_text("2\n", encoding="utf-8")
    (folder / "staged").write_text("2\n", encoding="utf-8")
    git("add", "staged")
    (folder / "gone").unlink()
    git("rm", "-q", "gone_staged")
    git("mv", "old_name", "new_name")
    (folder / "added").write_text("x\n", encoding="utf-8")
    git("add", "added")
    (folder / "intended").write_text("x\n", encoding="utf-8")
    git("add", "--intent-to-add", "intended")
    (folder / "untracked").write_text("x\n", encoding="utf-8")
    status = await status_of(folder)
    assert states(status) == {
        "changed": "modified",
        "staged": "modified",
        "gone": "deleted",
        "gone_staged": "deleted",
        "new_name": "renamed",
        "added": "added",
        "intended": "added",
        "untracked": "untracked",
    }
    assert status.files["new_name"].renamed_from == "old_name"


async def test_a_file_taken_out_of_git_but_kept_is_untracked(folder: Path, git: Git) -> None:
    commit(git, folder, kept="1\n", other="1\n")
    git("rm", "-q", "--cached", "kept")
    assert states(await status_of(folder)) == {"kept": "untracked"}


async def test_a_merge_conflict_is_conflicted(folder: Path, git: Git) -> None:
    commit(git, folder, a="one\n")
    git("checkout", "-qb", "side")
    commit(git, folder, a="side\n")
    git("checkout", "-q", "main")
    commit(git, folder, a="main\n")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "-q", "side")
    assert states(await status_of(folder)) == {"a": "conflicted"}


async def test_an_ignored_or_untracked_folder_is_one_entry(folder: Path, git: Git) -> None:
    commit(git, folder, __gitignore="build/\n*.pyc\n")
    for name in ("build/deep/a", "build/b", "new/deep/a", "new/x.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")
    status = await status_of(folder)
    assert status.files == {
        "build": FileStatus(state="ignored", is_folder=True),
        "new": FileStatus(state="untracked", is_folder=True),
        "new/x.pyc": FileStatus(state="ignored"),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not allow such names")
async def test_names_with_spaces_newlines_and_bytes_that_are_no_utf8_are_kept(folder: Path, git: Git) -> None:
    names = [
        "with space",
        "two\nlines",
        "tab\there",
        '"quoted"',
        " leading",
        "ünïcode",
        os.fsdecode(b"latin\xe9"),
        "-a",
    ]
    commit(git, folder, first="x\n")
    for name in names:
        (folder / name).write_text("some content\n" * 5, encoding="utf-8")
    assert states(await status_of(folder)) == dict.fromkeys(names, "untracked")
    git("add", "-A")
    assert states(await status_of(folder)) == dict.fromkeys(names, "added")
    git("commit", "-qm", "odd names")
    git("mv", "two\nlines", "three\n\nlines or so")
    status = await status_of(folder)
    assert status.files["three\n\nlines or so"].renamed_from == "two\nlines"


async def test_a_submodule_is_not_looked_into(folder: Path, git: Git, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "-q", at=library)
    git("commit", "-q", "--allow-empty", "-m", "first", at=library)
    git("submodule", "--quiet", "add", str(library), "lib")
    git("commit", "-qm", "add the library")
    assert states(await status_of(folder)) == {}
    (folder / "lib" / "new").write_text("x", encoding="utf-8")
    assert states(await status_of(folder)) == {}, "git would have to start another git, with what is configured there"
    assert states(await status_of(folder / "lib")) == {"new": "untracked"}
    inside = find_repository(folder / "lib")
    assert inside is not None
    assert inside.git_dir == folder / ".git" / "modules" / "lib"


async def test_a_folder_inside_a_repository_sees_its_own_part_with_its_own_paths(folder: Path, git: Git) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src2").mkdir()
    (folder / "outside").write_text("x", encoding="utf-8")
    (folder / "src2" / "other").write_text("x", encoding="utf-8")
    (folder / "src" / "deep" / "a").write_text("x", encoding="utf-8")
    git("add", "-A")
    status = await status_of(folder / "src")
    assert states(status) == {"deep/a": "added"}
    assert status.branch == "main"


async def test_a_link_to_the_repository_is_as_good_as_the_repository(folder: Path, git: Git, tmp_path: Path) -> None:
    (folder / "a").write_text("x", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert states(await status_of(link)) == {"a": "untracked"}


async def test_a_worktree_knows_where_its_head_is(folder: Path, git: Git, tmp_path: Path) -> None:
    commit(git, folder, a="x\n")
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", "-b", "side", str(tree))
    assert (await status_of(tree)).branch == "side"
    repository = find_repository(tree)
    assert repository is not None
    assert (repository.git_dir / "HEAD").read_text(encoding="utf-8").strip() == "ref: refs/heads/side"


async def test_reading_the_status_takes_no_lock_and_writes_nothing(folder: Path, git: Git) -> None:
    commit(git, folder, a="x\n")
    os.utime(folder / "a", (1, 1))  # git would refresh its index for this
    before = (folder / ".git" / "index").read_bytes()
    (folder / ".git" / "index.lock").touch()
    assert states(await status_of(folder)) == {}
    assert (folder / ".git" / "index").read_bytes() == before


async def test_the_environment_of_a_calling_hook_does_not_mislead(
    folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (folder / "a").write_text("x", encoding="utf-8")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert states(await status_of(folder)) == {"a": "untracked"}


# --- no answer ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_repository_of_another_user_is_read_only_when_the_user_trusts_it(
    folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.chown(folder / ".git", 65534, 65534)
    answer = await query_status(folder)
    assert isinstance(answer, NoStatus)
    assert f"git config --global --add safe.directory {folder}" in answer.detail
    settings = tmp_path / "settings"
    settings.write_text(f"[safe]\n\tdirectory = {folder}\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert isinstance(await query_status(folder), RepoStatus)


async def test_settings_that_change_what_git_answers_are_kept(folder: Path, git: Git, tmp_path: Path) -> None:
    commit(git, folder, a="x\n")
    (tmp_path / "ignored here").write_text("*.tmp\n", encoding="utf-8")
    git("config", "core.excludesFile", str(tmp_path / "ignored here"))
    git("config", "core.fileMode", "false")
    (folder / "c.tmp").write_text("x", encoding="utf-8")
    (folder / "a").chmod(0o755)
    assert states(await status_of(folder)) == {"c.tmp": "ignored"}


async def test_a_pipe_in_place_of_a_file_of_git_stops_nothing(folder: Path, git: Git) -> None:
    commit(git, folder, a="x\n")
    (folder / ".git" / "info" / "attributes").unlink(missing_ok=True)
    os.mkfifo(folder / ".git" / "info" / "attributes")
    os.mkfifo(folder / ".git" / "commondir")
    assert find_repository(folder) is not None


async def test_another_repository_in_the_place_of_the_one_that_was_found_is_not_asked(folder: Path, git: Git) -> None:
    commit(git, folder, a="x\n")
    found = find_repository(folder)
    assert found is not None
    (folder / ".git").rename(folder / "aside")
    git("init", "-q")
    answer = await status_of_found(found)
    assert isinstance(answer, NoStatus)
    assert answer.reason == "replaced"


async def test_nothing_is_left_of_the_stand_in_also_when_the_application_ends_meanwhile(
    folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    await status_of(folder)
    assert list(temporary.iterdir()) == []
    task = asyncio.create_task(query_status(folder))
    while not list(temporary.iterdir()):  # noqa: ASYNC110 - nothing tells that it is there
        await asyncio.sleep(0)
    while not task.done():  # everything that waits for it is cancelled, too
        for running in asyncio.all_tasks() - {asyncio.current_task()}:
            running.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="the program that counts is a shell script")
async def test_a_question_starts_git_once(
    folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit(git, folder, a="x\n")
    git("config", "branch.main.remote", "origin")
    count, real = tmp_path / "count", shutil.which("git")
    (tmp_path / "git").write_text(f'#!/bin/sh\necho >> {count}\nexec {real} "$@"\n', encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert states(await status_of(folder)) == {}
    assert count.read_text() == "\n"


async def test_a_configuration_that_is_not_written_plainly_is_read_by_git(folder: Path, git: Git) -> None:
    commit(git, folder, a="x\n")
    with (folder / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write('[core] fileMode = "fal\\\nse" ; for a shared folder\n')
    (folder / "a").chmod(0o755)
    assert states(await status_of(folder)) == {}


async def test_a_plain_folder_has_no_status_and_says_why(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        assert await query_status(folder) == NoStatus(reason="not_a_repository")


async def test_a_missing_git_is_named(folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await query_status(folder) == NoStatus(reason="git_missing")
    assert await list_files(folder) is None


async def test_what_git_complains_about_is_passed_on(folder: Path, git: Git) -> None:
    (folder / ".git" / "index").write_bytes(b"this is no index")
    answer = await query_status(folder)
    assert isinstance(answer, NoStatus)
    assert answer.reason == "failed"
    assert "index file" in answer.detail


# --- the child process --------------------------------------------------------------------------------------------


StandsIn = Callable[[str], None]


@pytest.fixture
def stands_in(monkeypatch: pytest.MonkeyPatch, git: Git, tmp_path: Path) -> StandsIn:
    """Replace git by a shell script, except for reading settings."""
    if sys.platform == "win32":
        pytest.skip("the stand-in for git is a shell script")

    def put(script: str) -> None:
        program = tmp_path / "git"
        program.write_text(f'#!/bin/sh\ncase "$*" in *--list*) exit;; esac\n{script}\n', encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return put


async def test_cancelling_kills_git_and_what_it_started(folder: Path, stands_in: StandsIn, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    stands_in(f"/bin/sleep 1000 & echo $! $$ > {ready}\nwait")
    task = asyncio.create_task(query_status(folder))
    pids = (await asyncio.to_thread(ready.read_text)).split()
    family = [psutil.Process(int(pid)) for pid in pids]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(family) == 2
    async with asyncio.timeout(20):
        while not all(has_ended(process) for process in family):  # noqa: ASYNC110 - nothing reports a grandchild's end
            await asyncio.sleep(0)


_CLOSING = """
import asyncio, sys
from pathlib import Path
from desktop_agent.core.system.git.git_process import UsersGit

async def begin(turns):
    git = await UsersGit.around(Path(sys.argv[1]))
    running = asyncio.create_task(git.run("status"))
    for _ in range(turns):
        await asyncio.sleep(0)

for turns in range(12):
    asyncio.run(begin(turns))
"""


def test_a_loop_that_closes_while_git_starts_does_not_wait_for_ever(folder: Path, git: Git) -> None:
    """It cancels all tasks, also those in which asyncio connects the pipes of a new process."""
    commit(git, folder, a__txt="one\n")
    done = subprocess.run(  # noqa: TID251 - the loop has to be another process's
        [sys.executable, "-P", "-c", _CLOSING, str(folder)], timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE  # an orphan, until process 1 takes note of it
    except psutil.NoSuchProcess:
        return True


async def test_git_that_takes_too_long_is_ended(
    folder: Path, stands_in: StandsIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_in("exec /bin/sleep 1000")
    monkeypatch.setattr(git_process, "TIME_LIMIT_S", 0.01)
    assert await query_status(folder) == NoStatus(reason="too_slow")


async def test_endless_output_is_cut_and_the_whole_records_are_used(
    folder: Path, stands_in: StandsIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_in("while :; do printf '? a file\\0? another one\\0'; done")
    monkeypatch.setattr(git_process, "STATUS_LIMIT_BYTES", 100)
    status = await status_of(folder)
    assert states(status) == {"a file": "untracked", "another one": "untracked"}
    assert not status.is_complete


async def test_many_complaints_do_not_stop_the_answer(folder: Path, stands_in: StandsIn) -> None:
    stands_in(
        'i=0; while [ $i -lt 20000 ]; do echo "warning: could not open" >&2; i=$((i+1)); done; printf "? a\\0"',
    )
    assert states(await status_of(folder)) == {"a": "untracked"}


# --- listing ------------------------------------------------------------------------------------------------------


async def test_files_are_listed_without_what_is_ignored(folder: Path, git: Git) -> None:
    (folder / "src").mkdir()
    commit(git, folder, __gitignore="*.log\n", tracked="x")
    (folder / "src" / "new file").write_text("x", encoding="utf-8")
    (folder / "src" / "a.log").write_text("x", encoding="utf-8")
    git("init", "-q", str(folder / "nested"))
    assert await list_files(folder / "src") == (["new file"], True)
    listed = await list_files(folder)
    assert listed is not None
    assert sorted(listed[0]) == [".gitignore", "src/new file", "tracked"]


# --- the parser ---------------------------------------------------------------------------------------------------


def test_lines_of_an_unknown_kind_are_skipped() -> None:
    output = b"# branch.head main\0# stash 3\0x something new\0\0? a\0"
    assert parse_status(output) == RepoStatus(branch="main", files={"a": FileStatus(state="untracked")})


def test_the_branch_is_read_with_its_upstream() -> None:
    heads = [b"oid 12ab", b"head main", b"upstream origin/main", b"ab +2 -11"]
    output = b"".join(b"# branch.%s\0" % head for head in heads)
    expected = RepoStatus(branch="main", commit="12ab", upstream="origin/main", ahead=2, behind=11)
    assert parse_status(output) == expected
    assert parse_status(b"# branch.oid (initial)\0# branch.head (detached)\0# branch.ab +x -1\0") == RepoStatus()


def test_a_record_that_was_cut_off_is_dropped() -> None:
    renamed = b"2 R. N... 100644 100644 100644 aaaa bbbb R100 new name\0old name\0"
    for end in range(len(renamed)):
        assert parse_status(b"? a\0" + renamed[:end]).files.keys() == {"a"}
    assert parse_status(renamed).files == {"new name": FileStatus(state="renamed", renamed_from="old name")}


NAMES = st.sampled_from(["core.autocrlf", "branch.a b.remote", 'branch."\\x.merge', "remote.o.fetch", "user.name"])
PROGRAMS = ["core.fsmonitor", "filter.x.clean", "include.path", "core.hooksPath", "remote.x.uploadpack", "alias.x"]


@given(st.lists(st.tuples(NAMES, st.text(st.characters(codec="utf-8", exclude_characters="\0")))))
def test_what_is_kept_of_a_configuration_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, settings: list[tuple[str, str]]
) -> None:
    file = tmp_path_factory.mktemp("config") / "config"
    listed = [*settings, *((name, "evil") for name in PROGRAMS)]
    file.write_bytes(harmless_config("".join(f"{name}\n{value}\0" for name, value in listed).encode()))
    output = subprocess.check_output(["git", "config", "--null", "--list", "--file", str(file)])
    read_back = [tuple(record.split("\n", 1)) for record in output.decode().split("\0")[:-1]]
    assert read_back == [("core.bare", "false"), *settings]


LINES = st.sampled_from([
    "[core]", '[branch "a b.C"]', '[Remote "o"]', "[a.b]", "[core] x = y", "\tbare = false", "x=", "flag", "= v",
    "a-b = c  d ", "k = a\tb", 'k = "q"', "k = a # b", "k = a ; b", "k = a \\", "# note", " ; note", "", "\r", "k = ü",
    "1k = v", "k v", "K1 = a=b", "[x", '[x ""]', "k = [y]", "\ufeff[core]", "\fk = v",
])  # fmt: skip


@given(st.lists(LINES, max_size=8))
def test_a_configuration_that_is_read_without_git_is_read_as_git_would(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    file = tmp_path_factory.mktemp("config") / "config"
    file.write_bytes("\n".join(lines).encode())
    settings = plain_settings(file.read_bytes())
    if settings is not None:
        assert subprocess.check_output(["git", *LISTING, str(file)]) == settings


def test_what_git_writes_itself_is_read_without_git(folder: Path, git: Git) -> None:
    git("config", "branch.a/b.c.remote", "origin")
    git("remote", "add", "Origin", "https://example.org/~a/b.git?x=1")
    config = folder / ".git" / "config"
    assert plain_settings(config.read_bytes()) == subprocess.check_output(["git", *LISTING, str(config)])


@given(st.binary(max_size=400))
def test_no_output_breaks_the_parser(output: bytes) -> None:
    parse_status(output)


@given(st.lists(st.sampled_from([b"1 .M N... ", b"2 ", b"u ", b"? ", b"! ", b"# branch.ab ", b"x\0", b"\0"])))
def test_no_order_of_records_breaks_the_parser(pieces: list[bytes]) -> None:
    parse_status(b"".join(pieces))
