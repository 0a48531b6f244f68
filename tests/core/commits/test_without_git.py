"""What a commit reads and writes without git is what git reads and writes, and git is asked where it must be."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path

import pytest

from desktop_agent.core.commits import quick_objects
from desktop_agent.core.commits.git_commit import commit_changes, undo_commit
from desktop_agent.core.commits.objects import has_converting_attributes, settings_of
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.system.git.git_process import UsersGit
from tests.core.commits.test_generated_commits import Place, Scene, World, by_git

pytestmark = pytest.mark.skipif(shutil.which("git") != "/usr/bin/git", reason="it is known where that git looks")

Files = Mapping[str, str]
HasRun = Callable[[], bool]
EDITED = "edited", (Place("1", "replaced"), Place("before", "inserted"))
PLAIN = Scene("plain", {"a.txt": EDITED, "d/ü.txt": EDITED}, "all", 0)


@pytest.fixture
def git_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HasRun:
    """Tells whether the product has started git."""
    monkeypatch.setenv("GIT_TRACE2", str(tmp_path / "trace"))
    return (tmp_path / "trace").exists


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, PLAIN)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", world.environ["GIT_CONFIG_GLOBAL"])
    world.prepare()
    world.act()
    return world


def run(world: World, script: str) -> None:
    subprocess.check_call(["sh", "-ec", script], cwd=world.root, env=world.environ)


def write(folder: Path, files: Files) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


NAME = "[user]\n\tname = Ada\n"
EMAIL = "[User]\n\tEmail = ada@example.org\n\tname\n"


@pytest.mark.parametrize(
    ("variables", "files", "is_asked"),
    [
        ({}, {}, False),
        ({}, {".gitconfig": NAME, ".config/git/config": EMAIL}, False),
        ({"XDG_CONFIG_HOME": "{home}/xdg"}, {"xdg/git/config": NAME, ".config/git/config": EMAIL}, False),
        ({"XDG_CONFIG_HOME": ""}, {".config/git/config": NAME}, False),
        ({"GIT_CONFIG_GLOBAL": "{home}/other"}, {".gitconfig": NAME, "other": EMAIL}, False),
        ({"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_SYSTEM": "{home}/system"}, {"system": NAME}, False),
        ({"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": "{home}/system"}, {"system": NAME}, False),
        ({"GIT_CONFIG_NOSYSTEM": "yes", "GIT_CONFIG_SYSTEM": "{home}/system"}, {"system": NAME}, True),
        ({}, {".gitconfig": '[user]\n\tname = "Ada" # the first\n'}, True),
        ({}, {".gitconfig": "[include]\n\tpath = more\n", "more": NAME}, True),
        ({}, {".gitconfig": '[includeIf "gitdir:/"]\n\tpath = more\n', "more": NAME}, True),
        ({"PATH": "{home}:{PATH}"}, {"git": '#!/bin/sh\nexec /usr/bin/git "$@"\n'}, True),
    ],
)
async def test_settings_are_those_that_git_finds(
    isolated_home: Path,
    world: World,
    git_ran: HasRun,
    monkeypatch: pytest.MonkeyPatch,
    variables: Mapping[str, str],
    files: Files,
    is_asked: bool,
) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=isolated_home, PATH=os.environ["PATH"]))
    write(isolated_home, files)
    if "git" in files:
        (isolated_home / "git").chmod(0o755)
    git = await UsersGit.around(world.root)
    settings = await settings_of(git)
    assert git_ran() == is_asked
    records = (record.partition("\n") for record in (await git.ask("config", "--list", "-z")).split("\0")[:-1])
    assert settings == {name: value if is_set else "true" for name, is_set, value in records}


@pytest.mark.parametrize(
    ("setup", "is_asked", "is_converted"),
    [
        ("", False, False),
        ("echo '*.txt text' > .git/info/attributes", True, True),
        ("echo '*.c text' > .git/info/attributes", True, False),
        ("echo '*.txt text' > d/.gitattributes", True, True),
        ("mkdir other; echo '*.txt text' > other/.gitattributes", False, False),
        ("echo '*.txt text' > .gitattributes; git add .gitattributes; rm .gitattributes", True, True),
        ("mkdir -p ~/.config/git; echo '*.txt text' > ~/.config/git/attributes", True, True),
        ("echo '*.txt text' > ~/mine; git config core.attributesFile ~/mine", True, True),
    ],
)
async def test_attributes_are_those_that_git_finds(
    world: World, git_ran: HasRun, setup: str, is_asked: bool, is_converted: bool
) -> None:
    run(world, setup)
    git = await UsersGit.around(world.root)
    index = quick_objects.Opened(world.root).index
    assert await has_converting_attributes(git, await settings_of(git), {"a.txt", "d/ü.txt"}, index) == is_converted
    assert git_ran() == is_asked


ADA = "[user]\n\tname = Ada\n\temail = ada@example.org\n"


async def check_commit(world: World, git_ran: HasRun, message: str = "Ours") -> bool:
    """Commit as usual and by git, and compare. Return whether git ran in the first case."""
    commit = partial(commit_changes, world.record.transcript, world.ledger, (ChangeSelection(),), message)
    done = await commit()
    is_asked, made = git_ran(), world.told()
    await undo_commit(world.ledger, done.commit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick_objects.Opened, "at", by_git)
        again = await commit()
    assert (again.message, world.told()) == (done.message, made)
    return is_asked


@pytest.mark.parametrize(
    ("config", "variables", "is_asked"),
    [
        (ADA, {}, False),
        ("[user]\n\tname = Ada (née L.) B\n\temail = ö@example.org\n", {}, False),
        ("[user]\n\tname = Ada L.\n\temail = a@b\n", {}, True),
        ("[user]\n\tname = A. <b\n\temail = a\n", {}, True),
        ("[user]\n\tname = A\n\temail = 'a@b'\n", {}, True),
        (f"{ADA}[author]\n\tname = Eve\n", {}, True),
        (ADA, {"GIT_COMMITTER_NAME": "Eve"}, True),
        (ADA, {"GIT_AUTHOR_DATE": "2001-02-03T04:05:06+0100"}, True),
        (f"{ADA}[core]\n\tsharedRepository = group\n", {}, True),
        (f"{ADA}[core]\n\tlogAllRefUpdates = false\n", {}, False),
    ],
)
async def test_a_commit_has_the_author_that_git_finds(
    world: World,
    git_ran: HasRun,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    variables: Mapping[str, str],
    is_asked: bool,
) -> None:
    (world.top / "gitconfig").write_text(config)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert await check_commit(world, git_ran) == is_asked


@pytest.fixture(params=["Asia/Kathmandu", "America/St_Johns", ""])
def time_zone(request: pytest.FixtureRequest) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        yield
    time.tzset()


@pytest.mark.usefixtures("time_zone")
async def test_a_commit_has_the_time_zone_that_git_finds(world: World, git_ran: HasRun) -> None:
    assert not await check_commit(world, git_ran)


async def test_logs_have_the_subject_as_git_shortens_it(world: World, git_ran: HasRun) -> None:
    assert not await check_commit(world, git_ran, "  Ours \t\u00a0 of  two \n\n\nand more\n\n")


@pytest.mark.parametrize(
    "setup",
    [
        "git pack-refs --all --prune",
        "rm .git/logs/HEAD",
        "mv .git/refs/heads/main .git/refs/heads/other && ln -s other .git/refs/heads/main",
        "touch other.txt && git add other.txt && touch -r other.txt .git/index",
        "printf '#!/bin/sh' > .git/hooks/reference-transaction && chmod +x .git/hooks/reference-transaction",
        "printf '#!/bin/sh' > .git/hooks/post-index-change && chmod +x .git/hooks/post-index-change",
    ],
)
async def test_git_commits_where_something_is_unusual(world: World, git_ran: HasRun, setup: str) -> None:
    run(world, setup)
    assert await check_commit(world, git_ran)
