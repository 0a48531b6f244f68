"""Agents of other programs as the user or a project configured them: `[[agents]]` of the settings.

The values of their secret variables are in the keyring. Functions that read it block, and raise `CredentialsError`.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.agents.installed import KNOWN_AGENTS, KnownAgent, find_agent, known_agent, locate
from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import Keyring, is_secret_pair, read_all
from desktop_agent.core.mcp.definition import DefinedBy, ServerSandbox, hosts_in, start_in_full
from desktop_agent.core.protocol.model import SandboxMode
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import (
    NamedTables,
    choice_in,
    pairs_in,
    table_of,
    text_in,
    texts_in,
    unusual,
    words_in,
)
from desktop_agent.core.system.processes.shell import joined_words, program_meant, split_words

LIST = "agents"
_AGENTS = NamedTables(key=LIST, noun="agent", command="agents")
KEYS = ("name", "command", "args", "env", "secrets", "sandbox", "hosts", "mode")
NOT_CONFINED = "Runs outside the sandbox, as in your terminal."

_WHICH = "`desktop-agent agents list` lists those that can be used."
_NAME = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?")
_VARIABLE = regex(r"[^=\0]+")


class AgentDefinition(Struct, frozen=True, kw_only=True):
    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that are added to the environment: the user's, without credentials of others."""
    secrets: tuple[str, ...] = ()
    """The variables whose values are in the keyring."""
    sandbox: SandboxMode | None = None
    """`None`: the agent is not confined, as if the user had started it in a terminal."""
    hosts: tuple[str, ...] = ()
    """The hosts that a confined agent may reach, as in `ServerSandbox`."""
    mode: str = ""
    """The id of the agent's mode that is set; empty for the safest of those that ask."""
    defined_by: DefinedBy = "user"
    may_start: Callable[[], bool] | None = None
    """Asked before each start. Blocks; never raises."""

    @property
    def writer(self) -> str:
        """The name that tells its changes from those of other programs."""
        return f"agent {self.name}"

    @property
    def where(self) -> str:
        return joined_words((self.command, *self.args))

    @property
    def in_full(self) -> str:
        """Return everything that decides what runs, for the question of trust."""
        confined = f" ({limits.in_full})" if (limits := self.limits) is not None else ""
        return named(start_in_full((self.command, *self.args), self.env, self.secrets) + confined)

    @property
    def confinement(self) -> str:
        return NOT_CONFINED if (limits := self.limits) is None else limits.words

    @property
    def limits(self) -> ServerSandbox | None:
        if self.sandbox is None:
            return None
        return ServerSandbox(folders=(".",) if self.sandbox == "restricted" else (), hosts=self.hosts)

    def located(self, environ: Mapping[str, str], workspace: Path | None) -> "AgentDefinition | None":
        """Return the definition with the full path of its program; `None` if that is not found. Blocks."""
        if os.sep in self.command or "/" in self.command:
            return self if program_meant(self.command, environ, workspace) else None
        found = locate(self.command, environ, workspace)
        return None if found is None else replace(self, command=found.program, env={**found.env, **self.env})


class LoginWay(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str = ""
    command: tuple[str, ...] = ()
    """The command that signs in when run in a terminal; empty if the agent signs in by itself on request."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: tuple[str, ...] = ()
    """The variables in which the agent expects a key; setting them is all that this way consists of."""


class AgentReport(Struct, frozen=True, kw_only=True):
    """What a test of an agent found."""

    agent: str = ""
    """What it calls itself; empty if it did not answer."""
    version: str = ""
    abilities: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    mode: str = ""
    """The id of the mode that is set in sessions here."""
    sign_ins: tuple[LoginWay, ...] = ()
    problem: str = ""
    hint: str = ""
    detail: str = ""
    needs_sign_in: bool = False
    needs_answer: bool = False
    """Whether files that it runs are not as the user trusted them."""


class AgentDefinitions(Struct, frozen=True, kw_only=True):
    agents: tuple[AgentDefinition, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    def named(self, name: str) -> AgentDefinition | None:
        return next((agent for agent in self.agents if agent.name == name), None)


def agent_meant(
    agents: Iterable[AgentDefinition], reference: str, environ: Mapping[str, str], workspace: Path | None = None
) -> AgentDefinition:
    """Return the agent with a configured or a known name, else the one that a command line starts. Blocks.

    Raises `UsageError` if there is neither the name nor the program.
    """
    configured = next((agent for agent in agents if agent.name == reference), None)
    if configured is not None:
        meant, title = configured, f"The agent {reference} needs the program {named(configured.command)}."
    elif (known := known_agent(reference)) is not None:
        meant, title = agent_known(known, environ, workspace), ""
    else:
        meant = _typed(reference)
        title = f"There is no program {named(meant.command)} to start the agent."
        if not meant.args:
            title = f"There is no agent named {named(reference)}, and no program of that name."
    if (found := meant.located(environ, workspace)) is not None:
        return found
    hint = (
        "Install it, or put it on your PATH."
        if configured
        else "`desktop-agent agents list` lists those that can be used."
    )
    raise UsageError(title, hint=hint)


class FoundAgent(Struct, frozen=True, kw_only=True):
    definition: AgentDefinition
    title: str
    is_defined: bool = True
    """Whether it is defined in the settings; otherwise it is a known agent that is installed."""
    missing: str = ""
    """The program that should start it, if that is not found."""


class AgentsHere(Struct, frozen=True, kw_only=True):
    agents: tuple[FoundAgent, ...] = ()
    """Those that can be chosen; the defined ones come first."""
    not_installed: tuple[KnownAgent, ...] = ()


def look_for_agents(
    defined: Iterable[AgentDefinition], environ: Mapping[str, str], workspace: Path | None
) -> AgentsHere:
    """Return the defined agents and the known ones that are installed. Starts nothing. Blocks for some milliseconds."""
    found = [
        FoundAgent(
            definition=agent,
            title=title_of(agent.name),
            missing="" if agent.located(environ, workspace) is not None else agent.command,
        )
        for agent in defined
    ]
    not_installed: list[KnownAgent] = []
    names = {one.definition.name for one in found}
    for known in KNOWN_AGENTS:
        if known.name not in names:
            if (agent := _installed(known, environ, workspace)) is None:
                not_installed.append(known)
            else:
                found.append(FoundAgent(definition=agent, title=known.title, is_defined=False))
    return AgentsHere(agents=tuple(found), not_installed=tuple(not_installed))


def title_of(name: str) -> str:
    known = known_agent(name)
    return known.title if known is not None else name


def agent_known(known: KnownAgent, environ: Mapping[str, str], workspace: Path | None) -> AgentDefinition:
    """Return the definition of a known agent. Blocks. Raises `UsageError` if it is not installed."""
    if (agent := _installed(known, environ, workspace)) is None:
        raise UsageError(f"{known.title} is not installed.", hint=known.needs)
    return agent


def _installed(known: KnownAgent, environ: Mapping[str, str], workspace: Path | None) -> AgentDefinition | None:
    if (program := find_agent(known, environ, workspace)) is None:
        return None
    env = {name: value for name, value in known.env.items() if name not in environ}
    return AgentDefinition(name=known.name, command=program, args=known.args, env=env)


def _typed(line: str) -> AgentDefinition:
    try:
        words = split_words(line)
    except ValueError as error:
        raise UsageError(f"The agent's command line cannot be read: {error}.") from error
    if not words:
        raise UsageError("No agent is named.", hint=_WHICH)
    return AgentDefinition(name=Path(words[0]).stem, command=words[0], args=tuple(words[1:]))


def typed_agent(
    name: str, line: str, env: Mapping[str, str], sandbox: SandboxMode | None, hosts: Iterable[str]
) -> AgentDefinition:
    """Return the agent that a command line starts. Raises `ValueError`, whose message is for the user."""
    if not (words := split_words(line)):
        raise ValueError("it needs a command line")
    typed = {"name": name, "command": words[0], "args": words[1:], "env": dict(env), "sandbox": sandbox or "none"}
    return agent_in(typed | ({"hosts": list(hosts)} if sandbox else {}))


def read_agents(tables: Iterable[FoundTable]) -> AgentDefinitions:
    """Return the agents that the tables define. A project's agent never replaces a user's."""
    agents, problems = _AGENTS.read(tables, _defined)
    return AgentDefinitions(agents=agents, problems=problems)


def _defined(table: FoundTable) -> AgentDefinition:
    agent = agent_in(table.value)
    if table.is_project and agent.secrets:
        raise ValueError("a project's agent gets no secrets from your keyring: remove secrets")
    return replace(agent, defined_by="project" if table.is_project else "user", may_start=table.may_start)


def agent_in(entry: object) -> AgentDefinition:
    """Raise `ValueError`, whose message names the mistake."""
    values = table_of(entry, KEYS)
    name = text_in(values, "name", is_needed=True)
    if _NAME.fullmatch(name) is None:
        raise ValueError("name may have at most 32 letters, digits, '-', '_' and '.'")
    env, secrets = pairs_in(values, "env"), texts_in(values, "secrets")
    if wrong := [each for each in (*env, *secrets) if _VARIABLE.fullmatch(each) is None]:
        raise ValueError(f"{wrong[0]!r} cannot be the name of a variable")
    sandbox = choice_in(values, "sandbox", ("restricted", "strict", "none"), "none")
    if sandbox == "none" and "hosts" in values:
        raise ValueError("'hosts' is for an agent in the sandbox: add sandbox = \"restricted\"")
    return AgentDefinition(
        name=name,
        command=text_in(values, "command", is_needed=True),
        args=words_in(values, "args"),
        env=env,
        secrets=secrets,
        sandbox=None if sandbox == "none" else cast("SandboxMode", sandbox),
        hosts=hosts_in(values),
        mode=text_in(values, "mode"),
    )


def table_of_agent(agent: AgentDefinition) -> dict[str, object]:
    values = unusual(
        agent, AgentDefinition(name="", command="", defined_by=agent.defined_by, may_start=agent.may_start)
    )
    agent_in(values)  # what is written must be what can be read
    return values


def add_agents(path: Path, agents: Collection[AgentDefinition], keyring: Keyring) -> tuple[tuple[str, str], ...]:
    """Add agents to the settings file, and the values of their secret variables to the keyring.

    Blocks, raises and returns as `NamedTables.add`.
    """
    return _AGENTS.add(path, [_split(agent) for agent in agents], keyring)


def replace_agent(path: Path, agent: AgentDefinition, keyring: Keyring) -> None:
    """Replace the agent with the same name. Blocks, and raises as `NamedTables.replace`."""
    _AGENTS.replace(path, _split(agent), keyring, _entries_in)


def _split(agent: AgentDefinition) -> tuple[dict[str, object], dict[str, str]]:
    """Return the table of an agent, and its secrets by their entries in the keyring."""
    given = {name: value for name, value in agent.env.items() if value}
    secrets = {name: text for name, text in given.items() if name in agent.secrets or is_secret_pair(name, text)}
    public = {name: value for name, value in agent.env.items() if name not in secrets}
    names = tuple(dict.fromkeys((*agent.secrets, *secrets)))
    by_entry = {_entry(agent.name, name): value for name, value in secrets.items()}
    return table_of_agent(replace(agent, env=public, secrets=names)), by_entry


def _entries_in(table: object) -> list[str]:
    agent = agent_in(table)
    return [_entry(agent.name, name) for name in agent.secrets]


def remove_agent(path: Path, name: str, keyring: Keyring) -> None:
    """Remove an agent, and only then its secrets, so that a locked keyring cannot prevent the removal. Blocks."""
    removed = _AGENTS.remove(path, name)
    with suppress(ValueError):  # it was unusable
        try:
            for entry in _entries_in(removed):
                keyring.delete(entry)
        except CredentialsError as error:
            title = f"{name} is no longer defined, but its secrets are still in the keyring. {error.title}"
            raise CredentialsError(title, hint=error.hint, detail=error.detail) from error


def read_agent_secrets(keyring: Keyring, agent: AgentDefinition) -> Mapping[str, str]:
    """Return the secret variables of an agent. Blocks. Raises `CredentialsError`, also when a value is missing."""

    def missing(variable: str) -> CredentialsError:
        hint = f"Remove the agent, and add it again with --secret {variable}."
        return CredentialsError(f"The keyring has no value for {variable} of the agent {agent.name}.", hint=hint)

    return read_all(keyring, {name: _entry(agent.name, name) for name in agent.secrets}, missing)


def _entry(agent: str, variable: str) -> str:
    return f"agent:{agent}/env/{variable}"
