"""What an agent of another program asks, as our policy judges it and as our question shows it."""

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import AgentCall
from desktop_agent.core.agents.connection import AgentConnection
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    FileChange,
    FormField,
    FormOption,
    ServerQuestion,
)
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.tools.gate import Case, NotApprovedError, arguments_digest, edit_question

_PLAIN_YES = re.compile(
    r"(?:(?:yes|ok)[,.]? ?)?(?:(?:always )?(?:allow|accept|approve|proceed|run|continue|apply|go ahead)\b)?"
    r"(?: ?(?:it|once|one time|always|this (?:time|call|edit|change|command|once)|for this session))*[.!]?",
    re.IGNORECASE,
)
"""The names of options that say no more than that the call is allowed."""


class AgentQuestions:
    def __init__(self, turn: int, parts: SessionParts, agent: AgentConnection) -> None:
        self._number = turn
        self._parts = parts
        self._agent = agent

    async def choice(self, call: AgentCall, options: Sequence[wire.PermissionOption]) -> str:
        """Let the user choose among the agent's own options. Raises `NotApprovedError` if none was chosen."""
        values = tuple(FormOption(value=one.option_id, label=without_controls(one.name)) for one in options)
        field = FormField(name="option", label="Your answer", kind="choice", is_required=True, options=values)
        message = "\n\n".join(filter(None, (call.title, call.result())))
        question = ServerQuestion(server=self._agent.name, message=message, fields=(field,))
        decision = await self._parts.runtime.questions.ask(self._number, call.as_model(), question)
        if isinstance(decision, Allowed) and "option" in decision.answers:
            return str(decision.answers["option"])
        raise NotApprovedError("The user chose none of the options.", is_unanswered=isinstance(decision, Aborted))

    async def case(self, call: AgentCall, ways: Collection[str]) -> Case:
        asking = call.as_model()
        inside = await asyncio.to_thread(self.inside, call.paths)
        changes = await self._preview(call, inside)
        outside = tuple(f"outside the open folder: {path}" for path in call.paths if path not in inside)
        lasting = ("The agent will not ask about this again.",) if "allow_once" not in ways else ()
        facts = CallFacts(
            tool=call.tool,
            capabilities=call.capabilities,
            details=(*outside, *call.circumstances, *lasting),
            source="workspace" if call.command or (inside and not outside) else "external",
            paths=tuple(dict.fromkeys((*inside.values(), *(change.path for change in changes)))),
            command=call.command,
            folder=call.folder or str(self._parts.ledger.files.root),
            asks=" ".join(lasting),
            agent=self._agent.name,
            wants_unconfined=self._agent.definition.sandbox is None,
        )
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.tool,
            title=_question(call, changes, self._agent.name),
            reason="",
            arguments_digest=arguments_digest(asking),
            cwd=facts.folder,
            details=facts.details,
            arguments={} if call.command or changes else call.arguments,
            explanation=call.explanation,
            changes=changes,
            is_fixed=True,
        )
        return Case(call=asking, facts=facts, request=request)

    def inside(self, paths: Sequence[str]) -> dict[str, str]:
        """Return those paths that are in the folder, by what the agent calls them."""
        boundary, inside = self._parts.runtime.box.boundary(), dict[str, str]()
        for path in paths:
            with suppress(ToolError):
                relative = boundary.for_reading(path).relative
                if not Path(relative).is_absolute():
                    inside[path] = relative
        return inside

    async def _preview(self, call: AgentCall, inside: dict[str, str]) -> tuple[FileChange, ...]:
        """Return what the call would change, as far as it tells: whole files, or texts that stand in them once."""
        planned = await asyncio.to_thread(lambda: [one for diff in call.diffs if (one := self._planned(diff, inside))])
        return await self._parts.effects.prepare(self._number, planned) if planned else ()

    def _planned(self, diff: wire.CallContent, inside: dict[str, str]) -> FileTransition | None:
        if (path := inside.get(diff.path)) is None:
            return None
        try:
            before = self._parts.ledger.files.current(path)
        except OSError:
            return None
        old, new = (diff.old_text or "").encode(), diff.new_text.encode()
        if before is None or not before.content:
            return FileTransition(path, before, FileState(content=new) if before is None else before.with_content(new))
        if before.kind != "file":
            return None
        if b"\r\n" in before.content and b"\r" not in old + new:
            old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
        if not old or old == before.content:
            return FileTransition(path, before, before.with_content(new))
        if before.content.count(old) != 1:
            return None
        return FileTransition(path, before, before.with_content(before.content.replace(old, new)))


def meant_by_yes(options: Sequence[wire.PermissionOption]) -> str:
    """Return the option that allows the call and does nothing else; empty if none is clearly that one."""
    for kind in ("allow_once", "allow_always"):
        if found := [one for one in options if one.kind == kind]:
            return found[0].option_id if len(found) == 1 and _PLAIN_YES.fullmatch(found[0].name.strip()) else ""
    return ""


def _question(call: AgentCall, changes: tuple[FileChange, ...], agent: str) -> str:
    if call.command is not None:
        return "Run this command?"
    return edit_question(changes) if changes else f"Let {agent} do this: {(call.title or call.tool).rstrip('?')}?"
