"""Carries out an undo or redo from the command line, and says what came of it."""

from collections.abc import Sequence

from desktop_agent.cli.console import Console
from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import FileOutcome, JsonObject
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.refusals import Direction, describe_outcome
from desktop_agent.library.results import error_of

RevertOp = ops.UndoChanges | ops.RedoChanges | ops.RedoSteps


async def revert(session_id: SessionId, op: RevertOp, options: SessionOptions) -> tuple[FileOutcome, ...]:
    """Open the session, undo or redo, and close it again. Raises `AgentError` when it could not be carried out."""
    answers: list[ev.ChangesUndone | ev.ChangesRedone | ev.Notice] = []

    def on_event(event: ev.Event) -> None:
        match event:
            case ev.ChangesUndone() | ev.ChangesRedone():
                answers.append(event)
            case ev.Notice(code=code) if code in ev.REFUSALS:
                answers.append(event)
            case _:
                pass

    bench = Workbench.from_environment()
    session = (await bench.opener.open(session_id, on_event, options, is_attended=False)).session
    session.submit(op)
    session.submit(ops.Shutdown())
    await session.run()
    match answers[-1]:  # earlier ones are of an undo that was cut off, and now concluded
        case ev.Notice(code="nothing_selected"):
            return ()
        case ev.Notice() as refusal:
            raise error_of(refusal)
        case answer:
            return answer.outcomes


def report(
    outcomes: Sequence[FileOutcome],
    direction: Direction,
    console: Console,
    session_id: SessionId,
    *,
    is_dry_run: bool,
) -> int:
    """Say what came of it, file by file, and return the exit code."""
    documents: list[JsonObject] = [
        {
            "path": outcome.path,
            "state": outcome.state,
            "reason": outcome.reason,
            "change_ids": list(outcome.change_ids),
            "hunks": list(outcome.hunks),
            "removed": outcome.is_removed,
            "clash": encode(outcome.clash) if outcome.clash else None,
        }
        for outcome in outcomes
    ]
    lines = [describe_outcome(outcome) for outcome in outcomes] or [f"There is nothing to {direction}."]
    if is_dry_run:
        lines.insert(0, "Nothing was written. This would happen:")
    if any(outcome.reason in (refusals.NOT_THE_AGENTS, refusals.MAYBE_NOT_THE_AGENTS) for outcome in outcomes):
        lines.append("To also undo what is not the agent's, add --include-others.")
    if any(outcome.clash for outcome in outcomes):
        lines.append(f"To decide line by line, open the session: desktop-agent --resume {session_id}")
    console.result({"outcomes": documents, "dry_run": is_dry_run}, "\n".join(lines))
    return 0 if all(outcome.is_done for outcome in outcomes) else 1
