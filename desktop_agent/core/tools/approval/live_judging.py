"""Judges a command while the user edits it, so that what is shown follows the text and is never stale."""

import asyncio
from contextlib import suppress

from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.engine import Forbid
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ApprovalRequest, ToolCall
from desktop_agent.core.tools.approval.gate import ApprovalGate
from desktop_agent.core.tools.approval.judging import Case, Judge, draft, judgement_digest


class LiveJudging:
    """One judgement at a time for each question; texts that come meanwhile wait, and only the last of them counts."""

    def __init__(self, gate: ApprovalGate, approvals: Approvals, judge: Judge, log: EventLog) -> None:
        self._gate = gate
        self._approvals = approvals
        self._judge = judge
        self._log = log
        self._wanted: dict[CallId, str] = {}
        self._tasks: dict[CallId, asyncio.Task[None]] = {}

    def want(self, call_id: CallId, command: str) -> None:
        """Judge `command` instead of the one that `call_id` asks about; `CommandJudged` says what came of it."""
        self._wanted[call_id] = command
        if call_id not in self._tasks:
            self._tasks[call_id] = asyncio.create_task(self._judge_wanted(call_id), name=f"judge {call_id}")

    async def aclose(self) -> None:
        """Cancel what is being judged; no further `CommandJudged` is emitted."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _judge_wanted(self, call_id: CallId) -> None:
        try:
            while (command := self._wanted.pop(call_id, None)) is not None:
                if (case := self._case(call_id)) is not None:
                    await self._emit_judgement(case.edited(command), command)
        finally:
            self._tasks.pop(call_id, None)

    async def _emit_judgement(self, case: Case, command: str) -> None:
        """Emit the verdict at once, and the whole request when the safety copies and scripts are known."""
        call_id = case.call.id
        verdict = await self._judge.verdict(case.facts)
        if isinstance(verdict, Forbid):
            refused = ev.CommandJudged(call_id=call_id, command=command, request=None, obstacle=verdict.reason)
            self._log.emit(refused)
            return
        first = ev.CommandJudged(call_id=call_id, command=command, request=draft(case, verdict))
        self._log.emit(first)
        if call_id in self._wanted:
            return  # the user has typed on meanwhile
        request = (await self._judge.question(case, verdict)).request
        digest = judgement_digest(request)
        self._log.emit(ev.CommandJudged(call_id=call_id, command=command, request=request, digest=digest))

    def _case(self, call_id: CallId) -> Case | None:
        """What is asked about a call; of a question that an earlier process asked, as much as is on record."""
        if (case := self._gate.case_of(call_id)) is not None:
            return case
        held = self._approvals.held(call_id)
        return _recorded(held.request) if held is not None else None


def _recorded(request: ApprovalRequest) -> Case:
    """Return the case of a question on record. What the model wanted is not there: it counts as wanting out."""
    call = ToolCall(id=request.call_id, name=request.tool, arguments={})
    facts = CallFacts(
        tool=request.tool,
        capabilities=("exec_shell",),
        command=request.command,
        folder=request.cwd,
        details=request.details,
        wants_unconfined=request.is_escalation,
    )
    return Case(
        call=call,
        facts=facts,
        title=request.title,
        arguments=request.arguments,
        explanation=request.explanation,
    )
