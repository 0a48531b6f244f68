"""Runs one turn in a folder, answers its questions, shows what it changed, and takes it back.

    python docs/examples/fix_and_undo.py resources/demo/pagination

It works on a copy of the folder, asks the demo model (no key, no network), and keeps its session in a temporary folder.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.model import Allowed, ChangeSelection, Denied, ModelRef
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.providers.demo import DEMO_MODEL, TEST_COMMAND
from desktop_agent.core.session import Session
from desktop_agent.core.settings import Settings
from desktop_agent.workbench import Workbench

DEMO = ModelRef(provider="demo", model=DEMO_MODEL)


class Front:
    """What a window does, in a few lines: it hears events and submits ops."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.turn_ended: asyncio.Future[ev.TurnEnded] = asyncio.get_running_loop().create_future()
        self.undone: asyncio.Future[ev.ChangesUndone] = asyncio.get_running_loop().create_future()

    def on_event(self, event: ev.Event) -> None:
        """Called for every event, on the loop's thread. It must not block."""
        match event:
            case ev.TextDelta(text=text):
                print(text, end="", flush=True)
            case ev.ApprovalRequested(request=request):
                self._answer(request.call_id, request.command)
            case ev.ToolCallFinished(state=state, result=result):
                print(f"  [{state}, {len(result.content)} characters]")
            case ev.ChangesRecorded(changes=changes):
                for change in changes:
                    print(f"  {change.kind} {change.path} +{change.added} -{change.removed}")
            case ev.Notice(title=title, hint=hint):
                print(f"  ! {title} {hint}")
            case ev.TurnEnded():
                self.turn_ended.set_result(event)
            case ev.ChangesUndone():
                self.undone.set_result(event)
            case _:
                pass

    def _answer(self, call_id: str, command: str | None) -> None:
        """Allow edits and the one command that runs the tests; nothing else."""
        assert self.session is not None
        is_allowed = command is None or command == TEST_COMMAND
        decision = Allowed() if is_allowed else Denied(message="Only the tests may be run.")
        print(f"  asks: {command or 'an edit'} -> {decision.outcome}")
        self.session.submit(ops.AnswerApproval(call_id=call_id, decision=decision))


async def main(project: Path) -> None:
    """Run the example on a copy of `project`."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        workspace = Path(shutil.copytree(project, root / "project"))
        paths = AppPaths(root / "config", root / "data", root / "cache", root / "logs")
        bench = Workbench(paths, Settings())

        front = Front()
        session = await bench.create_session(workspace, sink=front.on_event, model=DEMO, approval="on_write")
        front.session = session
        serving = asyncio.create_task(session.run())
        try:
            session.submit(ops.SubmitPrompt(text="One of the tests fails. Fix it."))
            ended = await front.turn_ended
            print(f"\nThe turn ended: {ended.reason}, {ended.requests} requests.")

            session.submit(ops.UndoChanges(selection=ChangeSelection(turn=ended.turn)))
            for outcome in (await front.undone).outcomes:
                print(f"Undo: {outcome.path} {outcome.state}")
        finally:
            session.submit(ops.Shutdown())
            await serving
        for summary in bench.catalog.summaries():
            print(f"Kept: {summary.id}, {summary.turns} turn, {summary.size_bytes} bytes of journal")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))  # noqa: TID251 - entry point
