"""Actions on agents of other programs: find, show, test, add, edit and remove them in the settings, and sign in."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.app.controller import OneAtATime, WindowContext, in_background
from desktop_agent.app.settings.server_control import TableControl
from desktop_agent.core.agents.definition import (
    AgentDefinition,
    AgentDefinitions,
    AgentReport,
    AgentsHere,
    LoginWay,
    add_agents,
    look_for_agents,
    read_agents,
    remove_agent,
    replace_agent,
    title_of,
)
from desktop_agent.core.agents.new_agents import agents_of_zed, zed_settings
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import AgentSignIn
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.system.processes.shell import joined_words
from desktop_agent.ui.settings.settings_view import AgentActions, AgentsView, AgentView
from desktop_agent.ui.translation import core_words


class AgentControl(TableControl):
    def __init__(self, context: WindowContext, *, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context, fail=fail)
        launch = self._launch
        self._show: Callable[[AgentsView], None] | None = None
        self._leave: Callable[[], object] = lambda: None
        self.run_in_terminal: Callable[[str, Command], Awaitable[int | None]] | None = None
        """Runs a sign-in program in the window's terminal, once the window has one."""
        self._bar = self._panels.conversation.sign_in_bar
        self._signing = OneAtATime(launch, self._show_sign_in_failure)
        self._signing_in = ""
        self._found, self._has_zed = AgentsHere(), False
        self._looked_for: tuple[tuple[AgentDefinition, ...], Path | None] | None = None
        self._reports: dict[str, tuple[AgentDefinition, AgentReport | None]] = {}
        """The last test of each agent, and how it was defined then; `None` while it runs."""
        self.actions = AgentActions(
            look=in_background(launch, self._look),
            add=in_background(launch, self._add),
            edit=in_background(launch, self._edit),
            take_from_zed=in_background(launch, self._take_from_zed),
            test=in_background(launch, self._test),
            sign_in=in_background(self._signing.begin, self._sign_in_on_card),
            cancel_sign_in=self._signing.cancel,
            remove=in_background(launch, self._remove),
        )
        self.sign_in = in_background(self._signing.begin, self._sign_in_on_bar)
        """Carries out the sign-in (`AgentSignIn`) that the notice of a failed turn offers. A bar shows its progress."""
        self._bar.cancelled.connect(self._signing.cancel)
        entries = self._panels.transcript.entry_actions
        self._bar.retry_requested.connect(entries.retry_requested)
        entries.retry_requested.connect(self._bar.hide)

    def begin(
        self, show: Callable[[AgentsView], None], say: Callable[[str], None], leave: Callable[[], object]
    ) -> None:
        """`leave` closes the settings when the next step is in the window."""
        self._show, self._say, self._leave = show, say, leave
        self.refresh()

    def end(self) -> None:
        self._show, self._say = None, lambda _text: None
        if self._signing_in:
            self._signing.cancel()

    def refresh(self) -> None:
        if self._show is None:
            return
        defined = self._definitions
        if self._looked_for != (defined.agents, self._root):
            self.actions.look()
        names = {agent.name for agent in defined.agents}
        here = self._found.agents
        missing_of = {one.definition.name: one.missing for one in here if one.is_defined}
        views = [self._view_of(agent, missing=missing_of.get(agent.name, "")) for agent in defined.agents]
        others = (one for one in here if not one.is_defined and one.definition.name not in names)
        views += [self._view_of(one.definition, one.title) for one in others]
        missing = tuple(known for known in self._found.not_installed if known.name not in names)
        problems = tuple(map(str, defined.problems))
        self._show(AgentsView(agents=tuple(views), not_installed=missing, problems=problems, has_zed=self._has_zed))

    @property
    def _root(self) -> Path | None:
        return self._project.root if self._project is not None else None

    @property
    def _definitions(self) -> AgentDefinitions:
        return read_agents(self._tables)

    def _view_of(self, agent: AgentDefinition, title: str = "", missing: str = "") -> AgentView:
        tested, report = self._reports.get(agent.name, (None, None))
        return AgentView(
            definition=agent,
            title=title,
            missing=missing,
            is_testing=tested == agent and report is None,
            is_signing_in=self._signing_in == agent.name,
            report=report if tested == agent else None,
        )

    async def _look(self) -> None:
        environ, defined, root = self._bench.environ, self._definitions.agents, self._root
        self._looked_for = (defined, root)

        def look() -> tuple[AgentsHere, bool]:
            return look_for_agents(defined, environ, root), zed_settings(environ).is_file()

        self._found, self._has_zed = await asyncio.to_thread(look)
        self.refresh()

    async def _test(self, name: str) -> None:
        agent = self._named(name)
        if agent is None or self._reports.get(name) == (agent, None):
            return
        self._reports[name] = agent, None
        self.refresh()
        report = None
        try:
            report = await self._bench.agents.test(await self._located(agent))
        finally:
            self._reports[name] = agent, report or AgentReport(problem=self.tr("The test was interrupted."))
            self.refresh()

    def _named(self, name: str) -> AgentDefinition | None:
        here = (one.definition for one in self._found.agents if one.definition.name == name)
        return self._definitions.named(name) or next(here, None)

    async def _located(self, agent: AgentDefinition) -> AgentDefinition:
        return await asyncio.to_thread(agent.located, self._bench.environ, self._root) or agent

    # -- signing in --

    async def _sign_in_on_card(self, name: str, way: LoginWay) -> None:
        if way.command:
            self._leave()
            await self._sign_in_on_bar(AgentSignIn(agent=name, id=way.id, name=way.name, is_in_terminal=True))
        elif (agent := self._named(name)) is not None:
            _, report = self._reports.get(name, (None, None))
            self._signing_in = name
            self.refresh()
            try:
                report = await self._bench.agents.test(await self._located(agent), way.id)
            finally:
                self._signing_in = ""
                if report is not None:
                    self._reports[name] = agent, report
                self.refresh()

    async def _sign_in_on_bar(self, asked: AgentSignIn) -> None:
        title = title_of(asked.agent)
        self._bar.tell(self.tr("Signing in with {0}…").format(title), "", is_running=True)
        try:
            report = await self._signed_in(asked)
        except asyncio.CancelledError:
            self._bar.hide()
            raise
        if report.problem:
            self._bar.tell(core_words(report.problem), "" if report.needs_sign_in else core_words(report.hint))
        else:
            title = report.agent or title
            self._bar.tell(self.tr("You are signed in with {0}.").format(title), "", is_good=True)

    async def _signed_in(self, asked: AgentSignIn) -> AgentReport:
        """Sign in and test the agent. Raises `AgentError`."""
        root = self._root or Path.home()
        agent = self._named(asked.agent) or await self._bench.agent_meant(asked.agent, root)
        located = await self._located(agent)
        report = await self._bench.agents.test(located, "" if asked.is_in_terminal else asked.id)
        way = next((way for way in report.sign_ins if way.id == asked.id), None)
        if (
            asked.is_in_terminal
            and report.problem
            and way is not None
            and way.command
            and self.run_in_terminal is not None
        ):
            command = await self._bench.agents.sign_in_command(located, way, root)
            code = await self.run_in_terminal(way.name, command)
            if code == 0:
                report = await self._bench.agents.test(located)
            else:
                line = joined_words(way.command)
                problem = self.tr("The sign-in ended with code {0}.").format(code)
                problem = self.tr("There is no terminal here.") if code is None else problem
                hint = self.tr("It runs `{0}`.").format(named(line))
                return replace(report, problem=problem, hint=hint, needs_sign_in=False)
        self._reports[agent.name] = agent, report
        self.refresh()
        return report

    def _show_sign_in_failure(self, error: AgentError) -> None:
        self._bar.tell(core_words(error.title), core_words(error.hint))

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
            words = self.tr("Imported from Zed: {0}.").format(", ".join(names) or self.tr("nothing new"))
            return self._taken_words(words, (*problems, *refused))

        said: list[str] = []
        if await self._write(lambda: said.append(take())):
            self._say(said[0])
