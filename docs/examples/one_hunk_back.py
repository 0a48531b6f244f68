"""Looks at what a session changed, takes one hunk of it back, and applies it again.

    python docs/examples/one_hunk_back.py

It makes a folder and a session of its own, with one edit in two places. No model, no key, no network.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.changes.diff import diff_change
from desktop_agent.core.changes.hunk_keys import review_hunks
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.ids import SessionId
from desktop_agent.core.model import ChangeSelection, FileImage, JsonObject
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.settings import Settings
from desktop_agent.headless.single_call import CallOptions, SingleCall
from desktop_agent.workbench import Workbench

POEM = ["The colour of the sea", *["is told by the wind"] * 10, "and has no other colour", ""]
EDIT: JsonObject = {"path": "poem.txt", "old_str": "colour", "new_str": "color", "replace_all": True}


async def main(root: Path) -> None:
    """Run the example; everything it makes is in `root`."""
    paths, settings = AppPaths(root / "config", root / "data", root / "cache", root / "logs"), Settings()
    poem = root / "project" / "poem.txt"
    poem.parent.mkdir()
    poem.write_text("\n".join(POEM), encoding="utf-8")
    options = CallOptions(tool="edit_file", arguments=EDIT, workspace=poem.parent, approval="never")
    report = await SingleCall(paths, settings, options).run()
    await review(Workbench(paths, settings), report.session_id, poem)


async def review(bench: Workbench, session_id: SessionId, poem: Path) -> None:
    """Do what the review panel does: list, show, undo, redo."""
    reverted: asyncio.Queue[ev.ChangesUndone | ev.ChangesRedone] = asyncio.Queue()

    def on_event(event: ev.Event) -> None:
        if isinstance(event, ev.ChangesUndone | ev.ChangesRedone):
            reverted.put_nowait(event)

    session = (await bench.open_session(session_id, sink=on_event)).session
    serving = asyncio.create_task(session.run())
    try:
        rows = net_changes(session.transcript.changes.values())
        for row in rows:
            print(f"{row.change.kind} {row.path} +{row.change.added} -{row.change.removed}, {row.state}")
        print(patch_of(bench, rows).decode("utf-8", "replace"))

        before, after = contents(bench, rows[0])
        hunks = review_hunks(diff_change(rows[0].change, before, after))
        selection = ChangeSelection(path=rows[0].path, hunks=(hunks[1].key,))
        for op in (ops.UndoChanges(selection=selection, reason="British sea"), ops.RedoChanges(selection=selection)):
            session.submit(op)
            for outcome in (await reverted.get()).outcomes:
                print(f"{op.type}: {outcome.path} {outcome.state}, {americanisms(poem)} of 2")
    finally:
        session.submit(ops.Shutdown())
        await serving


def americanisms(poem: Path) -> int:
    """How many of the two words are as the session left them."""
    return poem.read_text(encoding="utf-8").count("color")


def patch_of(bench: Workbench, rows: list[NetChange]) -> bytes:
    """The changes as `git apply` takes them."""
    return make_patch(PatchFile(row.change, *contents(bench, row)) for row in rows)


def contents(bench: Workbench, row: NetChange) -> tuple[bytes | None, bytes | None]:
    """What the file held before the first change, and after the last one."""

    def held(image: FileImage | None) -> bytes | None:
        return None if image is None or image.kind == "folder" else bench.blobs.get(image.digest)

    return held(row.change.before), held(row.change.after)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else scratch)))  # noqa: TID251 - entry point
