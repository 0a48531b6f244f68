"""`desktop-agent agents test` and `login`: start an agent in an empty folder, say what it offers, sign in with it."""

import argparse
import asyncio
import os
import subprocess
import sys

from desktop_agent.cli.console import Console
from desktop_agent.cli.extensions import extensions_in
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.composition.agent_trials import AgentTrials
from desktop_agent.core.agents.definition import AgentDefinition, AgentReport, LoginWay, agent_meant, read_agents
from desktop_agent.core.base.errors import CredentialsError, ServerError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.execution.confiner import SandboxProbe


class Trial:
    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        paths = AppPaths.from_environment()
        self._console = console
        self._workspace = real_path(args.workspace or current_folder())
        defined = read_agents(extensions_in(paths, self._workspace).settings.loaded.tables).agents
        self.agent = agent_meant(defined, args.name, args.environ, self._workspace)
        self._trials = AgentTrials(
            paths=paths,
            environ=args.environ,
            keyring=ServerKeyring(tell=console.say),
            probe=SandboxProbe(os.environ),
        )

    def test(self, sign_in: str = "") -> AgentReport:
        self._console.say(f"Starting {self.agent.where} …")
        testing = self._trials.test(self.agent, sign_in)
        return asyncio.run(run_cancellable(testing))  # noqa: TID251 - entry point

    def sign_in(self, way: LoginWay) -> AgentReport:
        """Sign in, and test the agent. Raises `AgentError` if a program in the terminal did not sign in."""
        if way.variables:
            keep = f"`desktop-agent agents add {self.agent.name} --secret {way.variables[0]}`"
            title = f"{self.agent.name} takes a key in {' or '.join(way.variables)}."
            raise UsageError(title, hint=f"{keep} puts it into your keyring, for this agent only.")
        if not way.command:
            self._console.say("The agent signs in by itself, and may open a browser. Ctrl+C cancels.")
            return self.test(way.id)
        making = self._trials.sign_in_command(self.agent, way, self._workspace)
        command = asyncio.run(making)  # noqa: TID251 - entry point
        out = sys.stderr if self._console.is_json else None  # standard output is for the result
        try:
            code = subprocess.call(  # noqa: S603 - what the user's agent says
                command.argv, cwd=command.cwd, env=dict(command.environ), stdout=out
            )
        except OSError as error:
            raise ServerError(f"{command.argv[0]!r} could not be started: {error.strerror or error}.") from error
        if code != 0:
            raise CredentialsError(f"The sign-in with {self.agent.name} ended with exit code {code}.")
        return self.test()


def test(args: argparse.Namespace, console: Console) -> int:
    trial = Trial(args, console)
    agent, report = trial.agent, trial.test()
    works = not report.problem
    document: JsonObject = {"name": agent.name, "works": works, "confinement": agent.confinement}
    ways = [picked(way, "id", "name", "description", "command", "variables") for way in report.sign_ins]
    facts = picked(report, *AgentReport.__struct_fields__) | {"sign_ins": ways}
    console.result(document | facts, _as_text(agent, report))
    return int(not works)


def login(args: argparse.Namespace, console: Console) -> int:
    trial = Trial(args, console)
    name, report = trial.agent.name, trial.test()
    way = None
    if report.problem or args.method:
        way = _chosen(trial.agent, report, args.method)
        report = trial.sign_in(way)
    works = not report.problem
    document: JsonObject = {"name": name, "method": way.id if way is not None else "", "signed_in": works}
    text = f"You are signed in with {report.agent or name}."
    if way is None:
        text = f"{report.agent or name} works already. To sign in again, name the way with --method."
    elif not works:
        text = f"{name} does not work: {report.problem}"
    console.result(document | picked(report, "problem", "hint", "detail"), text)
    return int(not works)


def _chosen(agent: AgentDefinition, report: AgentReport, wanted: str | None) -> LoginWay:
    ways = report.sign_ins
    if report.problem and not report.needs_sign_in:
        raise ServerError(f"{agent.name} does not work: {report.problem}", hint=report.hint, detail=report.detail)
    if not ways:
        raise UsageError(f"{agent.name} offers no sign-in.", hint=report.hint)
    chosen = [way for way in ways if wanted in (None, way.id)]
    if len(chosen) == 1:
        return chosen[0]
    listed = "\n".join(f"  {way.id}: {way.name}" for way in ways)
    title = f"{agent.name} has no sign-in {wanted!r}." if wanted else f"{agent.name} offers {len(ways)} sign-ins."
    raise UsageError(title, hint=f"Name one with --method:\n{listed}")


def _as_text(agent: AgentDefinition, report: AgentReport) -> str:
    who = " ".join(filter(None, (report.agent or "an unnamed agent", report.version)))
    if report.problem:
        lines = [f"{agent.name} does not work: {report.problem}", *filter(None, [report.hint])]
        lines += ["", "Its last output:", report.detail] if report.detail else []
        return "\n".join(lines)
    lines = [f"{agent.name} works: {who}.", agent.confinement]
    modes = [f"{mode} (set)" if mode == report.mode else mode for mode in report.modes]
    ways = [way.name for way in report.sign_ins]
    for title, words in (("Supports", report.abilities), ("Modes", modes), ("Signs in by", ways)):
        lines += [f"{title}: {', '.join(words)}"] if words else []
    return "\n".join(lines)
