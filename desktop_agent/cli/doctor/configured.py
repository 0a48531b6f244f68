"""Checks of what the user has configured: settings, rules, accounts, addresses, servers."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.cli.doctor.check import Check, State
from desktop_agent.core.approvals import LiveRules, RulesFile
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.mcp.definition import Program
from desktop_agent.core.mcp.definition_file import read_definitions
from desktop_agent.core.models.account import named
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.providers.local import local_places, look_for_servers
from desktop_agent.core.sandbox.bubblewrap import Bubblewrap
from desktop_agent.core.sandbox.find import Sandbox
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import destination
from desktop_agent.core.settings.models_file import ModelsFile


def settings_check(live: LiveSettings, file: RulesFile, accounts: LoadedAccounts, models: ModelsFile) -> Check:
    """Look at the settings and accounts, and read the rules and what is said of models as a run would."""
    rules = LiveRules(file)
    rules.look()
    faults = (*live.faults, *rules.faults, *accounts.problems)
    if faults:
        message = f"Nothing runs: {'; '.join(map(str, faults))}"
        return Check("settings", "problem", message, "Mend what is named.")
    problems = (*live.problems, *rules.loaded.problems, *models.load().problems)
    if problems:
        return Check("settings", "warning", "; ".join(map(str, problems)), "Mend what is named.")
    return Check("settings", "ok", str(live.path))


def destination_checks(live: LiveSettings, accounts: LoadedAccounts, environ: Mapping[str, str]) -> list[Check]:
    """Say where the requests of new sessions go, and what sets that."""
    chosen = live.current.model
    if known_vendor(chosen.provider) is None:
        return []
    account = accounts.find(chosen.provider, named(chosen.account))
    return [Check("requests go to", "ok", destination(account, live.loaded, environ).words)] if account else []


def address_checks(url: str) -> list[Check]:
    """Warn of an address of the model that gets the key unencrypted over a network."""
    if not is_readable_on_the_way(url):
        return []
    message = f"{address_of(url)} is not encrypted: anyone on the way can read the key and the conversation."
    return [Check("model address", "warning", message, "Use an https:// address.")]


def local_server_checks(accounts: LoadedAccounts, live: LiveSettings, environ: Mapping[str, str]) -> list[Check]:
    """Say which servers of models run on this machine. One that is not there matters only where it is to be asked."""
    chosen = live.current.model
    places = local_places(accounts.added, environ, {chosen.provider: chosen.base_url})
    found = asyncio.run(look_for_servers(places))  # noqa: TID251 - entry point
    return [
        Check(
            f"local model {server.label}",
            "ok" if server.is_usable or server.provider != chosen.provider else "warning",
            server.title,
            server.hint,
        )
        for server in found
    ]


def mcp_checks(live: LiveSettings, workspace: Path, sandbox: Sandbox | None) -> list[Check]:
    """Say which servers could be started. Starting them all may take long: `mcp test` does that with one."""
    found = read_definitions(live.loaded.tables)
    checks = [Check("mcp", "warning", str(problem)) for problem in found.problems]
    for server in found.servers:
        state: State = "ok"
        message = f"{server.where} ({server.confinement.rstrip('.')})" if server.confinement else server.where
        confined = server.reached_by.sandbox if isinstance(server.reached_by, Program) else None
        if not server.is_enabled:
            message = "disabled"
        elif (program := server.missing_program(os.environ, workspace)) is not None:
            state, message = "warning", f"There is no program {program!r}."
        elif confined is not None and sandbox is None:
            state, message = "warning", "It must run in the sandbox, and there is none here, so it is not started."
        elif confined is not None and confined.hosts and not isinstance(sandbox, Bubblewrap):
            state, message = "warning", "It may reach some hosts only, which needs bubblewrap, so it is not started."
        checks.append(Check(f"mcp {server.name}", state, message))
    return checks
