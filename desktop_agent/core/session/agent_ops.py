"""What a session does for another program's agent between turns: sets its options, and leaves its context to it."""

import asyncio
import logging

from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.session.failure_notices import notice_of
from desktop_agent.core.session.session_parts import SessionParts

logger = logging.getLogger(__name__)


class AgentOps:
    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._info = parts.state.transcript.session
        self._setting: set[asyncio.Task[None]] = set()

    def set_option(self, op: ops.SetAgentOption) -> None:
        """Set an option without waiting for the agent, which may not answer."""
        task = asyncio.create_task(self._set(op), name=f"option {op.option_id}")
        self._setting.add(task)
        task.add_done_callback(self._setting.discard)

    async def aclose(self) -> None:
        for task in self._setting:
            task.cancel()
        if self._setting:
            await asyncio.wait(self._setting)

    async def _set(self, op: ops.SetAgentOption) -> None:
        log = self._parts.recorder
        try:
            model, reported = self._info.model, self._info.agent
            if model is None or reported is None:
                hint = "Its options are known once it has started, with the first message."
                raise UsageError("No agent of another program is running.", hint=hint)
            agent = self._parts.agents.connections.get(model.model)
            if agent is not None and agent.is_running:
                await agent.choose(op.option_id, op.value)
            elif all(one.id != op.option_id for one in reported.options):
                raise UsageError(f"{reported.title} has no option {op.option_id}.")
            else:  # it is set when the agent starts again
                options = (replace(one, value=op.value) if one.id == op.option_id else one for one in reported.options)
                log.emit(replace(reported, options=tuple(options)))
            await log.record(ev.AgentOptionSet(agent=model.model, option_id=op.option_id, value=op.value))
        except StorageError:
            logger.exception("The option of an agent could not be recorded")
        except AgentError as error:
            await log.record(replace(notice_of(error, None), level="warning", code="agent"))

    async def leave_context(self, op: ops.Compact | ops.InspectContext, model: ModelRef) -> str:
        """Say that the agent keeps its context. Return the agent's own command to summarise it, if it has one."""
        reported = self._info.agent
        name = reported.title if reported is not None else model.name
        command = f"/compact {op.focus}".strip() if isinstance(op, ops.Compact) else ""
        has_command = reported is not None and any(one.name == "compact" for one in reported.commands)
        if command and has_command:
            title, hint = f"{name} was sent its own command `/compact`.", ""
        elif command:
            title, hint = f"{name} summarises its conversation by itself, when it needs room.", ""
        else:
            title, hint = f"What {name} sees cannot be shown here.", "It keeps its context by itself."
        await self._parts.recorder.record(ev.Notice(level="info", code="agent", title=title, hint=hint))
        return command if has_command else ""
