"""Checks everything, and says what to do where something does not work."""

import argparse
import os

from msgspec.structs import asdict

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.doctor.check import Check, State
from desktop_agent.cli.doctor.configured import (
    address_checks,
    destination_checks,
    local_server_checks,
    mcp_checks,
    settings_check,
)
from desktop_agent.cli.doctor.machine import (
    environment_check,
    folder_checks,
    keyring_check,
    limits_check,
    sandbox_checks,
)
from desktop_agent.cli.doctor.programs import git_check, python_check, qt_check, ripgrep_check
from desktop_agent.core.approvals import RULES_NAME, RulesFile
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME, ModelsFile
from desktop_agent.core.system.processes.shell import search_path
from desktop_agent.core.system.workspace import current_folder

_MARKS: dict[State, str] = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}


def main(args: argparse.Namespace, console: Console) -> int:
    """Check everything and return 1 if something is a problem."""
    workspace = real_path(args.workspace or current_folder())
    paths = AppPaths.from_environment()
    live = LiveSettings.load(paths.settings_file(), os.environ)
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME).load()
    search = find_sandbox({**os.environ, "PATH": search_path(os.environ, workspace)})
    checks = [
        python_check(),
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
        *destination_checks(live, accounts, args.environ),
        *address_checks(live.current.model.base_url),
        *(check for account in accounts.added for check in address_checks(account.address)),
        *local_server_checks(accounts, live, args.environ),
        *mcp_checks(live, workspace, search.sandbox),
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
