"""`/compact`: the one command of the application that asks the model."""

import asyncio

from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.slash.parse import Invocation, plain_text
from desktop_agent.core.slash.parts import Answer, CommandParts, Performed, Reply, SessionHands
from desktop_agent.core.slash.wording import bullets, code


async def compact(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Answer:
    """Begin a summary; what came of it is said when it is there, and the session goes on meanwhile."""
    done = await hands.perform(ops.Compact(focus=plain_text(invocation.rest)))
    return _reply(done) if done.task is None else _wait(done, done.task)


async def _wait(done: Performed, task: asyncio.Task[None]) -> Reply:
    await asyncio.wait([task])
    return _reply(done)


def _reply(done: Performed) -> Reply:
    notice = done.notice
    for event in done.events:
        if isinstance(event, ev.Compacted):
            remark = f"\n\n{notice.title} {notice.hint}".rstrip() if notice is not None else ""
            return Reply(_summary(event) + remark)
    if notice is not None:
        return Reply(f"Compaction: {notice.title} {notice.hint}".rstrip(), is_error=True)
    return Reply("Compaction was stopped, so nothing was summarised.", is_error=True)


def _summary(event: ev.Compacted) -> str:
    summary = event.summary
    kept = (
        (summary.goals, "goal"),
        (summary.decisions, "decision"),
        (summary.constraints, "constraint"),
        (summary.files, "file"),
        (summary.apis, "API"),
        (summary.todos, "to-do"),
    )
    lines = [f"Tokens: about {event.tokens_before:,} → {event.tokens_after:,}"]
    if found := ", ".join(number_of(len(items), word) for items, word in kept if items):
        lines.append(f"Kept of the older turns: {found}")
    if event.focus:
        lines.append(f"Above all: {code(event.focus)}")
    head = f"Compaction done: everything through turn {event.through_turn} is summarised for the model."
    return f"{head}\n\n{bullets(lines)}"
