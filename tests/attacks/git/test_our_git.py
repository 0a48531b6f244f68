"""All git calls of the application on hostile repositories run none of their programs."""

from pathlib import Path

import pytest

from desktop_agent.app.git_review import GitReview
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.protocol.model import RefChange
from desktop_agent.core.system.git.git_process import list_files, query_status
from desktop_agent.core.system.git.refs import keep_objects, read_refs, restore_refs
from desktop_agent.core.system.git.repository import NoStatus, RepoStatus
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from tests.attacks.corpus import cases
from tests.attacks.git.hostile import LAYOUTS, VECTORS, Armed, Layout, Vector, bare_plain, plain

LIMITS = SafetyLimits(ignored_folders=frozenset({"node_modules", ".git"}), max_captured_bytes=2**20)
_COUNT = len(VECTORS)
CASES = [
    (VECTORS[(at + turn) % _COUNT], layout)  # turned, so that the share that always runs has every kind in it
    for turn, layout in enumerate(LAYOUTS)
    for at in range(_COUNT)
]


def name_of(case: tuple[Vector, Layout]) -> str:
    return f"{case[1].__name__}-{case[0].name}"


@pytest.mark.parametrize("case", cases(CASES, name_of))
async def test_no_program_that_a_repository_names_is_run(case: tuple[Vector, Layout], tmp_path: Path) -> None:
    vector, layout = case
    armed = layout(tmp_path, vector)
    is_repository = isinstance(await query_status(armed.folder), RepoStatus)
    assert is_repository == (layout is not bare_plain), "git that does not answer proves nothing"
    await look_at_files(armed)
    await look_after_commands(armed, tmp_path)
    assert armed.ran == ""


async def test_a_repository_that_appears_later_is_used_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    assert await query_status(tmp_path / "ws") == NoStatus(reason="not_a_repository")
    armed = plain(tmp_path, VECTORS[0])
    assert isinstance(await query_status(armed.folder), RepoStatus)
    assert armed.ran == ""


async def look_at_files(armed: Armed) -> None:
    await query_status(armed.folder)
    await list_files(armed.folder)
    review = GitReview(Comparer())
    state = await review.look(str(armed.folder))
    for branch in ("", *state.branches):
        try:
            changes = await review.changes(str(armed.folder), branch)
            for change in changes:
                await review.diff(str(armed.folder), change)
        except AgentError:
            continue  # git's failures are reported, and nothing runs


async def look_after_commands(armed: Armed, place: Path) -> None:
    safeguard = Safeguard(armed.folder, SafetyCopies(armed.folder, place / "kept", lambda: LIMITS), place / "session")
    inside = armed.folder / "lib" / "sub"
    for line in ("git checkout .", "git clean -fdx", "git stash drop"):
        for folder in (armed.folder, inside) if inside.exists() else (armed.folder,):
            run = PlannedCommand(line, str(folder), is_confined=False)
            await safeguard.prepare(CallId("call"), run)
            await safeguard.finish(CallId("call"))
    refs = await read_refs(armed.folder)
    if refs is None:
        return
    gone = [RefChange(name="refs/heads/gone", before=oid, after=None) for oid in refs.names.values()]
    stash = [RefChange(name=f"stash:{entry.oid}", before=entry.oid, after=None) for entry in refs.stash]
    await keep_objects(armed.folder, [*gone, *stash])
    await restore_refs(armed.folder, [*gone[:1], *stash])
