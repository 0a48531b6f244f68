"""Confining the commands of a session: which sandbox there is, and putting a command behind its walls.

It fails closed. A command that was decided to be confined runs confined or not at all.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from desktop_agent.core.errors import SandboxError, ToolError
from desktop_agent.core.model import ToolResult
from desktop_agent.core.policy.call import Confinement as Level
from desktop_agent.core.processes.runner import Command
from desktop_agent.core.sandbox.base import Confinement, Sandbox, confinement_for
from desktop_agent.core.sandbox.denial import denial_in
from desktop_agent.core.sandbox.find import SandboxSearch, find_sandbox
from desktop_agent.core.tools.secret_files import secret_files


class SandboxProbe:
    """What this machine can confine with: tried once, when somebody first needs to know."""

    def __init__(
        self, environ: Mapping[str, str], find: Callable[[Mapping[str, str]], SandboxSearch] = find_sandbox
    ) -> None:
        self._environ = environ
        self._find = find
        self._search: asyncio.Task[SandboxSearch] | None = None

    async def search(self) -> SandboxSearch:
        """Return the sandbox to use, if there is one, and why others cannot be."""
        if self._search is None or self._search.cancelled():
            self._search = asyncio.create_task(asyncio.to_thread(self._find, self._environ), name="sandbox probe")
        return await asyncio.shield(self._search)


class Confiner:
    """The walls around the commands of one session."""

    def __init__(
        self, probe: SandboxProbe, *, workspace: Path, temp: Path, allowed: Callable[[], Sequence[Path]], logs: Path
    ) -> None:
        """`temp` is the session's private folder for temporary files; it is made when first needed.

        Commands may write `allowed` folders, which are asked for at each command, and read `logs`, which has the output
        of background commands.
        """
        self._probe = probe
        self._workspace = workspace
        self._temp = temp
        self._allowed = allowed
        self._logs = logs

    async def is_available(self) -> bool:
        """Whether the kernel really confines commands here."""
        return (await self._probe.search()).sandbox is not None

    async def walls(self, level: Level | None) -> "Walls":
        """Return what a command of this level is put behind.

        Raises `ToolError` when it cannot be confined: then it must not run.
        """
        if level is None:
            raise ToolError("It was not decided how this command must run, so it was not run.", error_type="fatal")
        if level == "none":
            return Walls()
        sandbox = (await self._probe.search()).sandbox
        if sandbox is None:
            text = "The command must run in a sandbox, and none is available here. `desktop-agent doctor` says why."
            raise ToolError(text, error_type="permission")
        return await asyncio.to_thread(self._build_walls, sandbox, level)

    def _build_walls(self, sandbox: Sandbox, level: Level) -> "Walls":
        self._temp.mkdir(mode=0o700, parents=True, exist_ok=True)
        allowed = [folder for folder in self._allowed() if folder.is_dir()]
        confinement = confinement_for(level, self._workspace, self._temp, allowed)
        if confinement is not None and level == "strict":
            # A command that only reads runs unasked, so it reads nothing that a reading tool would ask about.
            confinement = replace(confinement, hidden=secret_files(self._workspace))
        if confinement is not None and self._logs.is_dir():
            confinement = replace(confinement, readable=(self._logs,))
        return Walls(sandbox, confinement)


class Walls:
    """What one command is put behind; without a sandbox, nothing."""

    def __init__(self, sandbox: Sandbox | None = None, confinement: Confinement | None = None) -> None:
        self._sandbox = sandbox
        self._confinement = confinement

    @property
    def may_write(self) -> bool:
        """Whether a command behind them can change files of the workspace."""
        return self._confinement is None or self._confinement.is_workspace_writable

    @property
    def may_write_git(self) -> bool:
        """Whether a command behind them can change git's own files, or anything outside the workspace."""
        return self._confinement is None or self._confinement.is_git_writable

    @property
    def words(self) -> str:
        """What the card of a call says of them; empty when there are none."""
        if self._confinement is None:
            return ""
        return "sandbox" if self._confinement.is_workspace_writable else "read-only sandbox"

    def confine(self, command: Command) -> Command:
        """Return `command` behind the walls. Blocks. Raises `ToolError` when that is impossible."""
        if self._sandbox is None or self._confinement is None:
            return command
        try:
            return self._sandbox.wrap(command, replace(self._confinement, has_terminal=command.tty))
        except SandboxError as error:
            raise ToolError(f"The command could not be confined, so it was not run: {error}") from error

    def denial_in(self, result: ToolResult) -> str:
        """Return, in a sentence, what the walls seem to have refused to a command; empty when nothing points to it."""
        exit_code = result.metadata.get("exit_code")
        if self._confinement is None or not result.is_error or not isinstance(exit_code, int):
            return ""
        has_closed_top = self._sandbox is not None and self._sandbox.name == "landlock"
        text = _printed(result.content)
        return denial_in(exit_code, text, self._confinement, has_closed_top=has_closed_top) or ""


def _printed(content: str) -> str:
    """Return what a command printed, out of the JSON that it is told in."""
    try:
        told: object = json.loads(content)
    except ValueError:
        return content
    output = cast("dict[str, object]", told).get("output") if isinstance(told, dict) else None
    return output if isinstance(output, str) else content
