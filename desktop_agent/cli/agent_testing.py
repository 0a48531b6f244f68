"""`desktop-agent agents test`: starts an agent, opens a session in an empty folder, says what it offers, ends it."""

import argparse
import asyncio
import os

from desktop_agent.cli.config import settings_in
from desktop_agent.cli.console import Console
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.composition.application import agent_tested
from desktop_agent.core.agents.definition import AgentDefinition, AgentReport, agent_meant, read_agents
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.execution.confiner import SandboxProbe


def main(args: argparse.Namespace, console: Console) -> int:
    paths = AppPaths.from_environment()
    workspace = real_path(args.workspace or current_folder())
    defined = read_agents(settings_in(paths, workspace).loaded.tables).agents
    agent = agent_meant(defined, args.name, args.environ, workspace)
    console.say(f"Starting {agent.where} …")
    keyring, probe = ServerKeyring(tell=console.say), SandboxProbe(os.environ)
    testing = agent_tested(agent, paths, args.environ, keyring, probe)
    report = asyncio.run(run_cancellable(testing))  # noqa: TID251 - entry point
    works = not report.problem
    document: JsonObject = {"name": agent.name, "works": works, "confinement": agent.confinement}
    console.result(document | picked(report, *AgentReport.__struct_fields__), _as_text(agent, report))
    return int(not works)


def _as_text(agent: AgentDefinition, report: AgentReport) -> str:
    who = " ".join(filter(None, (report.agent or "an agent that does not say its name", report.version)))
    if report.problem:
        lines = [f"{agent.name} does not work: {report.problem}", *filter(None, [report.hint])]
        lines += ["", "What it said last:", report.detail] if report.detail else []
        return "\n".join(lines)
    lines = [f"{agent.name} works: {who}.", agent.confinement]
    modes = [f"{mode} (set)" if mode == report.mode else mode for mode in report.modes]
    for title, words in (("Supports", report.abilities), ("Modes", modes), ("Signs in by", report.sign_ins)):
        lines += [f"{title}: {', '.join(words)}"] if words else []
    return "\n".join(lines)
