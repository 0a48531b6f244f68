"""Tests an agent: starts it in an empty folder, opens a session, notes what it offers, and ends it."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.core.agents.connection import AgentConnection, AgentSurroundings
from desktop_agent.core.agents.definition import AgentDefinition, AgentReport
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.plain_text import named


async def report_on(definition: AgentDefinition, around: AgentSurroundings) -> AgentReport:
    """Raises nothing: what is wrong is in the report."""
    scratch = await asyncio.to_thread(lambda: real_path(Path(tempfile.mkdtemp(prefix="desktop-agent-test-"))))
    connection = AgentConnection(definition, replace(around, root=scratch))
    try:
        return await _tested(connection)
    finally:
        await connection.aclose()
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _tested(connection: AgentConnection) -> AgentReport:
    error: AgentError | None = None
    try:
        await connection.start()
        await connection.open_session()
    except AgentError as raised:
        error = raised
    facts, info, mode = connection.facts, connection.facts.agent_info, connection.offers.mode
    report = AgentReport(
        agent=connection.name if info is not None else "",
        version=named(info.version) if info is not None else "",
        abilities=_abilities(connection),
        sign_ins=tuple(named(way.name) for way in facts.auth_methods),
    )
    if mode is not None:
        report = replace(report, modes=tuple(named(one.value) for one in mode.choices), mode=named(str(mode.value)))
    if error is None:
        return report
    needs_sign_in = isinstance(error, CredentialsError) and info is not None
    return replace(report, problem=error.title, hint=error.hint, detail=error.detail, needs_sign_in=needs_sign_in)


def _abilities(connection: AgentConnection) -> tuple[str, ...]:
    can = connection.facts.agent_capabilities
    found = {
        "images": can.prompt_capabilities.image,
        "embedded files": can.prompt_capabilities.embedded_context,
        "resuming sessions": can.load_session or connection.facts.can_resume,
        "MCP servers over HTTP": can.mcp_capabilities.http,
    }
    return tuple(words for words, is_there in found.items() if is_there)
