"""Confined commands cannot leave a hostile repository for the user's git unreported."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say
from tests.attacks.git.conftest import DEEP, EMPTY, OWN
from tests.harness import Ground

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


@dataclass(frozen=True)
class Seen:
    told: tuple[str, ...]
    """The words of the card and the review."""
    content: str


async def run_confined(ground: Ground, command: str) -> Seen:
    ground.write("src/run.sh", command)  # a script: the policy asks about lines that name `.git`
    script = [[Call("run_terminal_cmd", {"command": "sh src/run.sh"})], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnEnded)
        [finished] = s.rx.all(ev.ToolCallFinished)
        told = tuple(item.path for event in s.rx.all(ev.ChangesRecorded) for item in event.uncaptured)
        return Seen(told, finished.result.content)


def everything_in(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


PLANTED = {
    "folder": ("git init -q src/new", "src/new/.git"),
    "file": ("mkdir src/new; echo gitdir: ../a > src/new/.git", "src/new/.git"),
    "deep": ("mkdir -p src/1/2/3/4/5/6 && git init -q src/1/2/3/4/5/6", "src/1/2/3/4/5/6/.git"),
    "filled_later": ("mkdir -p src/x/.git; sleep 0; echo ref: refs/heads/main > src/x/.git/HEAD", "src/x/.git"),
    "bare": ("mkdir -p src/new && cd src/new && mkdir objects refs && touch HEAD config", "src/new"),
    "bare_by_git": ("git init -q --bare src/new", "src/new"),
    "moved": ("git init -q $TMPDIR/made && cp -r $TMPDIR/made src/new", "src/new/.git"),
    "where_a_folder_was": ("mkdir -p src/b && git init -q src/b && rm src/a.txt", "src/b/.git"),
}


@pytest.mark.parametrize(
    ("command", "place"),
    [
        pytest.param(*case, id=name, marks=() if name in ("deep", "bare") else (pytest.mark.nightly,))
        for name, case in PLANTED.items()
    ],
)
async def test_a_repository_that_a_command_made_is_told_to_the_model_and_the_user(
    ground: Ground, command: str, place: str
) -> None:
    seen = await run_confined(ground, command)
    assert place in seen.told
    assert seen.content.startswith("The command left a git repository")
    assert place in seen.content


async def test_a_list_of_submodules_is_told_and_in_the_review(ground: Ground) -> None:
    seen = await run_confined(ground, "echo '[submodule \"x\"]' > src/.gitmodules")
    assert "src/.gitmodules" in seen.content


async def test_a_repository_that_was_there_is_not_told(ground: Ground) -> None:
    seen = await run_confined(ground, "echo b > src/b.txt; git status; git log")
    assert seen.told == ()
    assert "left a git repository" not in seen.content


KEPT = {
    "submodule_file": f"echo gitdir: ../../../../src > {DEEP}/.git",
    "submodule_file_replaced": f"echo gitdir: x > src/x && mv -f src/x {DEEP}/.git",
    "submodule_file_removed": f"rm -f {DEEP}/.git",
    "submodule_moved_away": f"mv {DEEP} src/away && mkdir -p {DEEP}",
    "parents_moved_away": "mv packages/group src/away",
    "empty_submodule": f"git init -q {EMPTY}",
    "empty_submodule_by_hand": f"mkdir {EMPTY}/.git",
    "empty_submodule_by_file": f"echo gitdir: ../../src > {EMPTY}/.git",
    "clone_config": f"echo '[core]' >> {OWN}/.git/config",
    "clone_hook": f"mkdir -p {OWN}/.git/hooks; echo evil > {OWN}/.git/hooks/pre-commit",
    "clone_replaced": f"rm -rf {OWN}/.git; git init -q {OWN}",
    "clone_moved_away": f"mv {OWN}/.git src/away",
}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command, id=name, marks=() if name.startswith(("submodule_file", "empty")) else pytest.mark.nightly
        )
        for name, command in KEPT.items()
    ],
)
async def test_no_git_that_is_there_or_belongs_to_a_submodule_changes_at_any_depth(
    ground: Ground, command: str
) -> None:
    places = [ground.workspace / place for place in (DEEP, EMPTY, OWN)]
    before = [everything_in(place) for place in places]
    await run_confined(ground, command)
    assert [everything_in(place) for place in places] == before
