"""Actions on agents of other programs in the settings dialog: find, show, test, add, edit and remove them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.core.agents.definition import (
    AgentDefinition,
    AgentDefinitions,
    AgentReport,
    add_agents,
    read_agents,
    remove_agent,
    replace_agent,
)
from desktop_agent.core.agents.installed import KNOWN_AGENTS, KnownAgent, find_agent
from desktop_agent.core.agents.new_agents import agents_of_zed, zed_settings
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.settings.settings_view import AgentActions, AgentsView, AgentView


class _Found(Struct, frozen=True, kw_only=True):
    missing: frozenset[str] = frozenset()
    """The names of the defined agents whose programs were not found."""
    installed: tuple[tuple[KnownAgent, AgentDefinition], ...] = ()
    not_installed: tuple[KnownAgent, ...] = ()
    has_zed: bool = False


class AgentControl(Controller):
    def __init__(self, context: WindowContext, *, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context)
        bench, launch = self._bench, self._launch
        self._path = bench.live.path or bench.paths.settings_file()
        self._keyring = ServerKeyring(bench.keys)
        self._fail = fail
        self._project: WorkspaceSettings | None = None
        self._show: Callable[[AgentsView], None] | None = None
        self._say: Callable[[str], None] = lambda _text: None
        self._found = _Found()
        self._looked_for: tuple[tuple[AgentDefinition, ...], Path | None] | None = None
        self._reports: dict[str, tuple[AgentDefinition, AgentReport | None]] = {}
        """The last test of each agent, and how it was defined then; `None` while it runs."""
        self.actions = AgentActions(
            look=in_background(launch, self._look),
            add=in_background(launch, self._add),
            edit=in_background(launch, self._edit),
            take_from_zed=in_background(launch, self._take_from_zed),
            test=in_background(launch, self._test),
            remove=in_background(launch, self._remove),
        )

    def follow(self, project: WorkspaceSettings | None) -> None:
        self._project = project

    def begin(self, show: Callable[[AgentsView], None], say: Callable[[str], None]) -> None:
        self._show, self._say = show, say
        self.refresh()

    def end(self) -> None:
        self._show, self._say = None, lambda _text: None

    def refresh(self) -> None:
        if self._show is None:
            return
        defined, found = self._definitions, self._found
        if self._looked_for != (defined.agents, self._root):
            self.actions.look()
        names = {agent.name for agent in defined.agents}
        installed = [(known, agent) for known, agent in found.installed if known.name not in names]
        agents = [self._view_of(agent) for agent in defined.agents]
        agents += [self._view_of(agent, known.title) for known, agent in installed]
        missing = tuple(known for known in found.not_installed if known.name not in names)
        problems = tuple(map(str, defined.problems))
        self._show(AgentsView(agents=tuple(agents), not_installed=missing, problems=problems, has_zed=found.has_zed))

    @property
    def _root(self) -> Path | None:
        return self._project.root if self._project is not None else None

    @property
    def _definitions(self) -> AgentDefinitions:
        return read_agents((self._project or self._bench.live).loaded.tables)

    def _view_of(self, agent: AgentDefinition, title: str = "") -> AgentView:
        tested, report = self._reports.get(agent.name, (None, None))
        return AgentView(
            definition=agent,
            title=title,
            missing=agent.command if agent.name in self._found.missing else "",
            is_testing=tested == agent and report is None,
            report=report if tested == agent else None,
        )

    async def _look(self) -> None:
        environ, defined, root = self._bench.environ, self._definitions.agents, self._root
        self._looked_for = (defined, root)

        def look() -> _Found:
            programs = [(known, find_agent(known, environ, root)) for known in KNOWN_AGENTS]
            return _Found(
                missing=frozenset(agent.name for agent in defined if agent.missing_program(environ, root)),
                installed=tuple(
                    (known, AgentDefinition(name=known.name, command=program, args=known.args))
                    for known, program in programs
                    if program is not None
                ),
                not_installed=tuple(known for known, program in programs if program is None),
                has_zed=zed_settings(environ).is_file(),
            )

        self._found = await asyncio.to_thread(look)
        self.refresh()

    async def _test(self, name: str) -> None:
        installed = (agent for _, agent in self._found.installed if agent.name == name)
        agent = self._definitions.named(name) or next(installed, None)
        if agent is None or self._reports.get(name) == (agent, None):
            return
        self._reports[name] = agent, None
        self.refresh()
        report = None
        try:
            located = await asyncio.to_thread(agent.located, self._bench.environ, self._root)
            report = await self._bench.test_agent(located or agent)
        finally:
            self._reports[name] = agent, report or AgentReport(problem=self.tr("The test was broken off."))
            self.refresh()

    async def _add(self, agent: AgentDefinition) -> None:
        if await self._write(lambda: add_agents(self._path, (agent,), self._keyring)):
            await self._test(agent.name)

    async def _edit(self, agent: AgentDefinition) -> None:
        if await self._write(lambda: replace_agent(self._path, agent, self._keyring)):
            await self._test(agent.name)

    async def _remove(self, name: str) -> None:
        self._reports.pop(name, None)
        await self._write(lambda: remove_agent(self._path, name, self._keyring))

    async def _take_from_zed(self) -> None:
        def take() -> str:
            agents, problems = agents_of_zed(zed_settings(self._bench.environ))
            new = [agent for agent in agents if self._definitions.named(agent.name) is None]
            refused = add_agents(self._path, new, self._keyring) if new else ()
            names = [agent.name for agent in new if agent.name not in dict(refused)]
            text = self.tr("Taken from Zed: {0}.").format(", ".join(names) or self.tr("nothing new"))
            left = "; ".join(f"{name}: {why}" for name, why in (*problems, *refused))
            return f"{text} {self.tr('Left out: {0}.').format(left)}" if left else text

        said: list[str] = []
        if await self._write(lambda: said.append(take())):
            self._say(said[0])

    async def _write(self, change: Callable[[], object]) -> bool:
        try:
            await asyncio.to_thread(change)
        except AgentError as error:
            self._fail(error)
            return False
        finally:
            await self._bench.live.refresh()
            await self._look()
        return True
