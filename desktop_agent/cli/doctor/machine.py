"""Checks of what this machine offers: the keyring, a sandbox, limits of commands, folders to write in."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from desktop_agent.cli.console import Console
from desktop_agent.cli.doctor.check import Check, State
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.store.cache_file import is_usable
from desktop_agent.core.system.environment import kept_back_from
from desktop_agent.core.system.processes.cgroup import CommandGroups

_DATABASES = ("*.sqlite3", "baselines/*.sqlite3", "index/*.sqlite3")
"""The databases of the cache, relative to its folder."""
_HELD = {"pids": "processes", "memory": "memory"}


def keyring_check(console: Console) -> Check:
    """Try the keyring: what is written must be read back."""
    try:
        report = SystemKeyStore(tell=console.say).probe()
    except CredentialsError as error:
        return Check("keyring", "warning", error.title, error.hint)
    if report.is_usable:
        return Check("keyring", "ok", report.backend)
    message = f"{report.problem} (backend: {report.backend})"
    return Check("keyring", "warning", message, report.hint)


def sandbox_checks(search: SandboxSearch) -> list[Check]:
    """Say which sandboxes work here, and which of them confines commands."""
    checks: list[Check] = []
    for report in search.reports:
        # One that works is enough; the others are listed for users who want a better one.
        state: State = "ok" if report.is_available else "warning"
        message = "works" if report.is_available else "does not work"
        if report.reason:
            message = f"{message}: {report.reason}" if not report.is_available else f"{message}. {report.reason}"
        checks.append(Check(f"sandbox {report.name}", state, message, report.hint))
    if search.sandbox is None:
        checks.append(Check("sandbox", "warning", search.verdict, "Follow one of the hints above."))
    else:
        checks.append(Check("sandbox", "ok", search.verdict))
    return checks


def limits_check() -> Check:
    """Say who keeps a command from taking all of the machine."""
    groups = CommandGroups.open("doctor")
    if groups is None:
        message = "No cgroup can be had here: the application watches what commands take, and ends one that takes more."
        return Check("limits", "ok", message)
    held = [what for controller, what in _HELD.items() if controller in groups.controllers]
    groups.close()
    by_kernel = f"The kernel limits their {' and '.join(held)}; the" if held else "The"
    message = f"Commands run in cgroups, each of which ends at once. {by_kernel} application watches what they take."
    return Check("limits", "ok", message)


def environment_check(environ: Mapping[str, str], passed: Sequence[str]) -> Check:
    """Say which variables no command gets; their values appear nowhere."""
    kept_back = kept_back_from(environ, passed)
    if not kept_back:
        return Check("environment", "ok", "No variable looks like a credential; commands get all.")
    names = ", ".join(f"{name} ({reason})" for name, reason in sorted(kept_back.items()))
    hint = "Name those that commands need in the setting execution.passed_variables."
    return Check("environment", "ok", f"Kept from commands: {names}.", hint)


def folder_checks(paths: AppPaths) -> list[Check]:
    """Write into every folder of the application."""
    named = {"settings": paths.config, "sessions": paths.sessions, "logs": paths.logs}
    return [*(_folder(name, path) for name, path in named.items()), _cache(paths)]


def _cache(paths: AppPaths) -> Check:
    """Say where the cache is, why it is not in its usual place, and whether its databases can be used."""
    if paths.cache_problem:
        message = f"{paths.cache_problem} Until that is mended, {paths.cache} is used."
        hint = "Free some disk space, or give yourself the right to write there."
        return Check("folder cache", "warning", message, hint)
    databases = [path for pattern in _DATABASES for path in sorted(paths.cache.glob(pattern))]
    damaged = [path for path in databases if not is_usable(path)]
    if damaged:
        message = f"{', '.join(map(str, damaged))} cannot be used. What it held is built again, or done without."
        return Check("folder cache", "warning", message, "If this stays so, delete what is named. Nothing is lost.")
    return _folder("cache", paths.cache)


def _folder(name: str, path: Path) -> Check:
    """Write a file where the folder is, or would be made; nothing is left."""
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
