"""Tries agents of other programs outside sessions: starts one in an empty folder, tests it or signs in, and ends it."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.agents.connection import AgentConnection, AgentSurroundings
from desktop_agent.core.agents.definition import AgentDefinition, AgentReport, LoginWay
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.secrets import Keyring
from desktop_agent.core.mcp.client import NotTrustedError
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.tools.execution.confiner import SandboxProbe, server_confiner


class AgentTrials(Struct, frozen=True, kw_only=True, eq=False):
    paths: AppPaths
    environ: Mapping[str, str]
    keyring: Keyring
    probe: SandboxProbe
    signed_in: dict[str, str] = {}
    """The sign-in method that the user chose for an agent, by the agent's command: some forget it when they end."""

    def surroundings(self, runner: ProcessRunner, root: Path) -> AgentSurroundings:
        return AgentSurroundings(
            root=root,
            environ=self.environ,
            keyring=self.keyring,
            confiner=server_confiner(self.paths, self.environ, self.probe),
            runner=runner,
            logs=self.paths.logs / "agents",
        )

    async def test(self, agent: AgentDefinition, sign_in: str = "") -> AgentReport:
        """Start an agent, let it sign in by the method with this id, and open a session. Raises nothing.

        It signs in for as long as the user takes in a browser; a cancellation ends it.
        """
        runner = ProcessRunner(SystemClock())
        scratch = await asyncio.to_thread(lambda: real_path(Path(tempfile.mkdtemp(prefix="desktop-agent-test-"))))
        connection = AgentConnection(agent, self.surroundings(runner, scratch))
        error: AgentError | None = None
        try:
            await connection.start()
            if sign_in:
                await connection.authenticate(sign_in)
            await connection.open_session()
        except AgentError as raised:
            error = raised
        finally:
            await connection.aclose()
            await runner.aclose()
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        if sign_in and error is None:
            self.signed_in[agent.where] = sign_in
        return _report(connection, error)

    async def sign_in_command(self, agent: AgentDefinition, way: LoginWay, folder: Path) -> Command:
        """Return the command that signs in from a terminal, and its variables. Raises `CredentialsError`."""
        around = self.surroundings(ProcessRunner(SystemClock()), folder)
        command = await around.command(agent, ServerLog(None))
        return replace(command, argv=way.command, environ={**command.environ, **way.env}, takes_input=False)


def _report(connection: AgentConnection, error: AgentError | None) -> AgentReport:
    info, mode = connection.facts.agent_info, connection.offers.mode
    report = AgentReport(
        agent=connection.name if info is not None else "",
        version=named(info.version) if info is not None else "",
        abilities=_abilities(connection),
        sign_ins=connection.sign_ins,
    )
    if mode is not None:
        report = replace(report, modes=tuple(named(one.value) for one in mode.choices), mode=named(str(mode.value)))
    if error is None:
        return report
    return replace(
        report,
        problem=error.title,
        hint=error.hint,
        detail=error.detail,
        needs_sign_in=isinstance(error, CredentialsError) and info is not None,
        needs_answer=isinstance(error, NotTrustedError),
    )


def _abilities(connection: AgentConnection) -> tuple[str, ...]:
    can = connection.facts.agent_capabilities
    found = {
        "images": can.prompt_capabilities.image,
        "embedded files": can.prompt_capabilities.embedded_context,
        "resuming sessions": can.load_session or connection.facts.can_resume,
        "MCP servers over HTTP": can.mcp_capabilities.http,
    }
    return tuple(words for words, is_there in found.items() if is_there)
