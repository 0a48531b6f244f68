"""Runs one turn in a folder, answers its questions, shows what it changed, and takes it back.

    python docs/examples/fix_and_undo.py resources/demo/pagination

It works on a copy of the folder, asks the demo model (no key, no network), and keeps its session in a temporary folder.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from desktop_agent import Agent, Allowed, ApprovalRequest, ChangeSelection, Denied
from desktop_agent import events as ev


def approve(request: ApprovalRequest) -> Allowed | Denied:
    """Allow edits and the one command that runs the tests; nothing else."""
    is_allowed = request.command is None or request.command.endswith("-m unittest discover -s tests -t .")
    decision = Allowed() if is_allowed else Denied(message="Only the tests may be run.")
    print(f"  asks: {request.command or 'an edit'} -> {decision.outcome}")
    return decision


def show(event: ev.Event) -> None:
    """Print what a user would want to see of an event."""
    match event:
        case ev.TextDelta(text=text):
            print(text, end="", flush=True)
        case ev.ToolCallFinished(state=state, result=result):
            print(f"  [{state}, {len(result.content)} characters]")
        case ev.ChangesRecorded(changes=changes):
            for change in changes:
                print(f"  {change.kind} {change.path} +{change.added} -{change.removed}")
        case ev.Notice(title=title, hint=hint):
            print(f"  ! {title} {hint}")
        case ev.TurnEnded(reason=reason, requests=requests):
            print(f"\nThe turn ended: {reason}, {requests} requests.")
        case _:
            pass


async def main(project: Path) -> None:
    """Run the example on a copy of `project`."""
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(shutil.copytree(project, Path(scratch) / "project"))
        home = Path(scratch) / "home"
        async with Agent(workspace, model="demo", approve=approve, approval="on_write", home=home) as agent:
            async for event in agent.stream("One of the tests fails. Fix it."):
                show(event)
            for outcome in await agent.changes.undo(ChangeSelection(turn=agent.transcript.turn)):
                print(f"Undo: {outcome.path} {outcome.state}")
        for summary in await Agent.list_sessions(home):
            print(f"Kept: {summary.id}, {summary.turns} turn, {summary.size_bytes} bytes of journal")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))  # noqa: TID251 - entry point
