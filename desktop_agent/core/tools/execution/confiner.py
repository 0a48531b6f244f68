"""Confines the commands of a session. A command that must be confined runs confined or not at all."""

import asyncio
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError, ToolError
from desktop_agent.core.base.paths import AppPaths, spare_cache
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.policy.scripts import folders_of_programs, programs_of
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import SandboxMode, ToolResult
from desktop_agent.core.sandbox.confinement import ConfinementSpec, confinement_for
from desktop_agent.core.sandbox.denial import denial_in, misplaced_program_in
from desktop_agent.core.sandbox.find import Sandbox, SandboxSearch, find_sandbox
from desktop_agent.core.sandbox.guarded import Guards, Homes, hidden_from
from desktop_agent.core.system.environment import confined_environment, leading_out
from desktop_agent.core.system.private_files import make_private_folder
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.system.processes.shell import search_path
from desktop_agent.core.tools.output import printed_in
from desktop_agent.core.tools.secret_files import SecretNames, secret_files, secrets_beside_programs


class SandboxProbe(Struct, eq=False):
    environ: Mapping[str, str]
    find: Callable[[Mapping[str, str]], SandboxSearch] = find_sandbox
    _searches: dict[str, asyncio.Task[SandboxSearch]] = field(default_factory=dict[str, asyncio.Task[SandboxSearch]])
    """The search for each `PATH`. Searches differ only if a `PATH` leads into a workspace."""

    async def search(self, workspace: Path | None = None) -> SandboxSearch:
        """Search the machine for a sandbox. Programs in `workspace`, where commands can write, are not used."""
        path = await asyncio.to_thread(search_path, self.environ, workspace)
        search = self._searches.get(path)
        if search is None or search.cancelled():
            finding = asyncio.to_thread(self.find, {**self.environ, "PATH": path})
            search = self._searches[path] = asyncio.create_task(finding, name="sandbox probe")
        return await asyncio.shield(search)


class Confiner(Struct, frozen=True, kw_only=True, eq=False):
    probe: SandboxProbe
    workspace: Path
    temp: Path
    allowed: Callable[[], Sequence[Path]]
    """The folders outside the workspace that commands may write to; called for each command."""
    visible: Callable[[], Sequence[Path]]
    passed: Callable[[], Sequence[str]]
    logs: Path
    secrets: Callable[[], SecretNames]
    """What a command that runs without approval must not read; called for each command."""

    async def is_available(self) -> bool:
        return (await self.probe.search(self.workspace)).sandbox is not None

    async def confinement(self, level: SandboxMode | None) -> "Confinement":
        if level is None:
            raise ToolError("It was not decided how this command must run, so it was not run.", error_type="fatal")
        if level == "none":
            return Confinement()
        sandbox = (await self.probe.search(self.workspace)).sandbox
        if sandbox is None:
            text = "The command must run in a sandbox, and none is available here. `desktop-agent doctor` says why."
            raise ToolError(text, error_type="permission")
        return await asyncio.to_thread(self._build_confinement, sandbox, level)

    def _build_confinement(self, sandbox: Sandbox, level: Literal["strict", "restricted"]) -> "Confinement":
        temp = self._made_temp()
        allowed = [folder for folder in self.allowed() if folder.is_dir()]
        logs = (self.logs,) if self.logs.is_dir() else ()
        spec = confinement_for(level, self.workspace, temp, allowed)
        spec = replace(spec, readable=(*logs, *allowed), visible=tuple(self.visible()))
        if level == "strict":
            # A command that only reads runs unasked, so it reads nothing that a reading tool would ask about.
            secrets = self.secrets()
            spec = replace(spec, hidden=(*secrets.by_name, *secrets.other_names()))
        return Confinement(sandbox, spec, self.probe.environ, self.passed())

    def _made_temp(self) -> Path:
        try:
            make_private_folder(self.temp)
        except OSError as error:
            spare = spare_cache(self.temp)
            if spare is None:
                text = f"There is no folder for the command's temporary files: {error.strerror or error}."
                raise ToolError(text, error_type="fatal") from error
            return spare
        return self.temp


class Confinement(Struct):
    sandbox: Sandbox | None = None
    spec: ConfinementSpec | None = None
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """The application's environment. A confined command gets only the part that `passed` allows."""
    passed: Sequence[str] = ()
    _folder: Path | None = None
    _search: tuple[Path, ...] = ()

    @property
    def may_write(self) -> bool:
        return self.spec is None or self.spec.is_workspace_writable

    @property
    def is_confined(self) -> bool:
        return self.spec is not None

    @property
    def words(self) -> str:
        """The words on a call's card; empty without confinement."""
        if self.spec is None:
            return ""
        return "sandbox" if self.spec.is_workspace_writable else "read-only sandbox"

    @property
    def kept_back(self) -> Mapping[str, str]:
        return {} if self.spec is None else leading_out(self.own, self.passed)

    def protect(self, repositories: Iterable[Path]) -> None:
        if self.spec is not None:
            self.spec = replace(self.spec, repositories=tuple(repositories))

    def confine(self, command: Command) -> Command:
        if self.sandbox is None or self.spec is None:
            return command
        environ = confined_environment(command.environ, self.own, self.passed)
        command = replace(command, environ=environ)
        line = command.argv[-1]
        folders = (*environ.get("PATH", "").split(os.pathsep), *folders_of_programs(line))
        self._search = tuple(Path(folder) for folder in folders if folder.startswith("/"))
        self._folder = command.cwd
        named = (command.argv[0], *programs_of(parse(line)))
        programs = tuple(Path(program) for program in dict.fromkeys(named) if program.startswith("/"))
        self.spec = replace(self.spec, has_terminal=command.tty, programs=programs, secrets_in=secrets_beside_programs)
        try:
            return self.sandbox.wrap(command, self.spec)
        except SandboxError as error:
            raise ToolError(f"The command could not be confined, so it was not run: {error}") from error

    def denial_in(self, result: ToolResult) -> str:
        """A sentence about what the sandbox seems to have denied; empty if nothing suggests a denial. Blocks."""
        exit_code = result.metadata.get("exit_code")
        if self.sandbox is None or self.spec is None or not result.is_error or not isinstance(exit_code, int):
            return ""
        guards = self.sandbox.guards
        return denial_in(
            exit_code,
            printed_in(result.content),
            self.spec,
            has_closed_top=self.sandbox.name == "landlock",
            is_hidden=hidden_from(self.spec, guards),
            homes=self._homes(guards),
            folder=self._folder,
        )

    def misplaced_program_in(self, result: ToolResult) -> str:
        """A sentence that says where a program is that a command did not find; empty for none. Blocks."""
        spec = self.spec
        if self.sandbox is None or spec is None or not result.is_error:
            return ""
        guards = self.sandbox.guards
        output = printed_in(result.content)
        return misplaced_program_in(output, self._homes(guards), lambda: hidden_from(spec, guards))

    def _homes(self, guards: Guards) -> Homes:
        return replace(guards.homes, search=tuple(dict.fromkeys((*guards.homes.search, *self._search))))


KEPT_BACK_KEY = "kept_back"

_LOOKED_AT = 16_000
MOST_NAMED_VARIABLES = 3
_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]{1,99}")
_USED_AS_A_VARIABLE = (
    r"(?:\$\{{?[!#]?|%)(?:env:)?{name}\b"  # $NAME, ${{NAME:-}}, %NAME%, $env:NAME
    r"|\b(?:printenv|getenv|lookupenv|environ\w*|env)\b[^\w\n]{{1,6}}(?:get\W{{1,3}})?{name}\b"
    r"|\b(?:variables?|env var)\b[^\w\n]{{1,16}}(?:[\w ]{{1,16}}: )?['\"`]?{name}\b"
    r"|\b{name}\b['\"`]? (?:environment |env )?var(?:iable)?\b"
    r"|\b{name}\b['\"`]?:? (?:\w+ ){{0,2}}(?:unbound|unset|undefined|missing|required|null|not (?:set|defined|found))\b"
    r"|(?i:keyerror).{{0,20}}['\"]{name}['\"]"
)


def kept_back_in(
    command: str, result: ToolResult, kept_back: Mapping[str, str], given: Collection[str] = ()
) -> dict[str, str]:
    """The variables, with reasons, that a failed command seems to need. `given` are those that the call sets."""
    if not result.is_error or not kept_back:
        return {}
    output = printed_in(result.content)[-_LOOKED_AT:]
    named = dict.fromkeys(_VARIABLE.findall(f"{command}\n{output}"))
    missed = {
        name: kept_back[name]
        for name in named
        if name in kept_back and name not in given and _is_missed(name, command, output)
    }
    return dict(list(missed.items())[-MOST_NAMED_VARIABLES:])


def kept_back_words(missed: Mapping[str, str]) -> str:
    return " ".join(
        f"{name} is kept back from commands ({reason}). The setting `passed_variables` passes it on, from the next "
        "session on."
        for name, reason in missed.items()
    )


def _is_missed(name: str, command: str, output: str) -> bool:
    if re.search(rf"(?<![\w$])\+?{name}\+?=", command):
        return False
    # Words such as TOKEN or DISPLAY occur in many texts. A printed API_TOKEN is always a variable.
    if "_" in name.strip("_") and re.search(rf"\b{name}\b", output):
        return True
    used = re.compile(_USED_AS_A_VARIABLE.format(name=name))
    return any(used.search(text) is not None for text in (command, output))


def server_confiner(paths: AppPaths, environ: Mapping[str, str], probe: SandboxProbe) -> ServerConfiner:
    return ServerConfiner(
        search=probe.search,
        cache=paths.cache / "mcp",
        environ=environ,
        secrets_in=secret_files,
        secrets_beside=secrets_beside_programs,
    )
