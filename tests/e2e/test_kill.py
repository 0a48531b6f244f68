"""Kill the process at random moments of a turn: nothing is lost, nothing is half written, everything can go on."""

import asyncio
import json
import sys
from pathlib import Path

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.model import ChangeSelection, FileImage
from desktop_agent.core.providers.scripted import Say, ScriptedProvider, in_order
from desktop_agent.core.store.journal import read_journal
from desktop_agent.core.transcript import Transcript
from tests.e2e.kill_lab import FILES
from tests.harness import Ground, Open, check_conversation

SEED = 20261121


async def test_a_killed_turn_leaves_a_session_that_opens_and_goes_on(tmp_path: Path, is_nightly: bool) -> None:
    count = 100 if is_nightly else 10
    trials = await run_lab(tmp_path / "lab", count)
    assert len(trials) == count
    stages: dict[str, int] = {}
    for number in range(count):
        stage = await judge(tmp_path / "lab" / f"{number:04}")
        stages[stage] = stages.get(stage, 0) + 1
    print(f"killed at: {json.dumps(stages, sort_keys=True)}")


async def run_lab(folder: Path, count: int) -> list[dict[str, float]]:
    """Run the laboratory to its end and return what it says of each trial."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.e2e.kill_lab", str(folder), str(count), str(SEED), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in output.splitlines()][1:]


async def judge(folder: Path) -> str:
    """Open what is left of one life, check every promise, and return the type of its last record."""
    ground = reopen(folder)
    bench = ground.bench(ScriptedProvider(in_order([])))
    ids = bench.catalog.ids()
    events, damages = read_journal(bench.catalog.journal_path(ids[0]), bench.blobs) if ids else ([], [])
    assert [damage for damage in damages if damage.line <= len(events)] == [], "at most the last record is torn"
    if not events:
        assert contents(ground) == FILES, "nothing was recorded, so nothing may have changed"
        return "nothing"
    [session_id] = ids
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.prompt("go on")
        check_conversation(s.last_request)
        check_files_are_images(ground, s.session.transcript)
        await check_undo(ground, s)
    assert no_litter(ground)
    return events[-1].type


def reopen(folder: Path) -> Ground:
    ground = Ground.__new__(Ground)
    fresh = Ground(folder.with_name(f"{folder.name}-judge"))
    for name, value in vars(fresh).items():
        setattr(ground, name, value)
    ground.paths = type(fresh.paths)(folder / "config", folder / "data", folder / "cache", folder / "logs")
    ground.workspace = folder / "workspace"
    return ground


def contents(ground: Ground) -> dict[str, bytes]:
    root = ground.workspace
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def check_files_are_images(ground: Ground, transcript: Transcript) -> None:
    """Every file is what it was before, or one of the recorded images: never a mix."""
    from desktop_agent.core.files import digest_of

    known: dict[str, set[str | None]] = {name: {digest_of(content)} for name, content in FILES.items()}
    for record in transcript.changes.values():
        images: set[str | None] = {digest(record.change.before), digest(record.change.after)}
        known.setdefault(record.change.path, set()).update(images)
    for path, content in contents(ground).items():
        assert digest_of(content) in known.get(path, set()), f"{path} is neither its before- nor an after-image"
    for record in transcript.active_changes():
        newest = [r for r in transcript.active_changes() if r.change.path == record.change.path][-1]
        assert newest.change.after is None or (ground.workspace / newest.change.path).is_file()


def digest(image: FileImage | None) -> str | None:
    return image.digest if image else None


async def check_undo(ground: Ground, s: Open) -> None:
    """Everything that stands can be taken back, and then the workspace is what it was."""
    if s.session.transcript.active_changes():
        s.submit(ops.UndoChanges(selection=ChangeSelection()))
        undone = await s.rx.expect(ev.ChangesUndone)
        assert {outcome.state for outcome in undone.outcomes} <= {"restored", "unchanged"}
    assert contents(ground) == FILES


def no_litter(ground: Ground) -> bool:
    return not [path for path in ground.workspace.rglob("*") if ".desktop-agent-" in path.name]
