"""The cost and the extent of imports, measured in fresh processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
QT = ("PySide6", "shiboken6", "qasync", "qtawesome")
CLOUDS = ("boto3", "botocore", "google.auth", "azure", "msal")
CLIENTS = ("anthropic", "openai", "mcp", "httpx2", "httpcore2", "h11", "anyio", *CLOUDS)
HEAVY = (
    *QT,
    "pydantic",
    "pydantic_core",
    "anthropic",
    "httpx2",
    "httpx",
    "keyring",
    "pygit2",
    "markdown_it",
    "asyncio",
)


def modules_below(*parts: str) -> list[str]:
    """The names of all modules in a package of ours, or the single module of that name."""
    root = PACKAGE.joinpath(*parts)
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]
    names = [".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def loaded_after(program: str, *candidates: str) -> list[str]:
    """Return which of `candidates` a fresh interpreter has imported after `program`."""
    report = f"import json, sys; print(json.dumps([name for name in {candidates!r} if name in sys.modules]))"
    done = subprocess.run(  # noqa: TID251 - an interpreter of its own is the point
        [sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return cast("list[str]", json.loads(done.stdout.splitlines()[-1]))


def test_nothing_headless_imports_qt() -> None:
    headless = [
        name for part in ("core", "composition", "library", "api", "headless", "cli") for name in modules_below(part)
    ]
    assert len(headless) > 80
    assert {
        "desktop_agent.core.session.session",
        "desktop_agent.composition.workbench",
        "desktop_agent.cli.run",
    } < set(headless)
    program = f"from importlib import import_module\nfor name in {headless!r}:\n    import_module(name)"
    assert loaded_after(program, *QT, "desktop_agent.ui", "desktop_agent.app") == []


def test_importing_the_package_pulls_in_nothing() -> None:
    assert loaded_after("import desktop_agent", *HEAVY, "desktop_agent.core", "argparse") == []


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_saying_what_it_is_takes_no_machinery(argument: str) -> None:
    start = f"from desktop_agent.cli import main\ntry:\n    main([{argument!r}])"
    program = f"{start}\nexcept SystemExit as end:\n    assert not end.code"
    assert loaded_after(program, *HEAVY, "desktop_agent.composition.workbench", "desktop_agent.app") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "show"],
        ["config", "get", "model.name"],
        ["storage", "show"],
        ["sessions", "list"],
        ["sessions", "verify"],
    ],
)
def test_what_needs_no_session_takes_no_tools_and_no_providers(arguments: list[str]) -> None:
    program = f"from desktop_agent.cli import main\nassert main({arguments!r}) == 0"
    machinery = (
        "desktop_agent.composition.workbench",
        "desktop_agent.composition.session_context",
        "desktop_agent.core.policy",
    )
    assert loaded_after(program, *QT, "pygit2", "httpx2", "rapidfuzz", "keyring", *machinery) == []


def test_a_run_imports_what_reads_git_and_what_suggests_names_only_when_it_needs_them() -> None:
    assert loaded_after("import desktop_agent.cli.run", *QT, "pygit2", "rapidfuzz", "anthropic", "httpx2") == []


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [("config", "show_path", ["config", "path"]), ("run", "main", ["run", "--prompt", "x", "--workspace", "/none"])],
)
def test_a_command_is_imported_without_the_collector_and_runs_with_it(
    module: str, function: str, arguments: list[str]
) -> None:
    program = f"""
import gc, sys
from desktop_agent.cli import main

def is_importing(phase, info):
    command = sys.modules.get("desktop_agent.cli.{module}")
    if "desktop_agent.cli.dispatch" in sys.modules and not hasattr(command, "{function}"):
        meanwhile.append(info)

meanwhile = []
gc.set_threshold(100)
gc.callbacks.append(is_importing)
sys.argv = ["desktop-agent", *{arguments!r}]
main()
assert gc.isenabled()
assert gc.get_freeze_count() > 0
assert not meanwhile, len(meanwhile)
"""
    assert loaded_after(program, *QT) == []


def test_the_window_is_painted_before_the_core_is_imported() -> None:
    later = (
        *CLIENTS,
        "pydantic",
        "keyring",
        "pygit2",
        "markdown_it",
        "pygments",
        "qasync",
        "desktop_agent.core.providers",
        "desktop_agent.composition.workbench",
    )
    program = "import desktop_agent.app.startup.window"
    assert loaded_after(program, *later, "desktop_agent.core.protocol.events", "asyncio") == []


def test_the_providers_of_all_vendors_are_built_without_an_sdk_and_an_http_client() -> None:
    program = """
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import VENDORS
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential

accounts = [usual_account(vendor.id) for vendor in VENDORS]
assert len([account_provider(one, key_credential(one, "k")) for one in accounts]) >= 8
"""
    assert loaded_after(program, *QT, *CLIENTS, "keyring") == []
