"""What commands, the library and the window load, asked of fresh processes."""

import json
import subprocess
import sys
from typing import cast

import pytest

from tests.servers.script import reply, text
from tests.servers.threaded import serve

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


FOREIGN = (
    *QT,
    *CLOUDS,
    "anthropic",
    "httpx2",
    "keyring",
    "markdown_it",
    "mcp",
    "openai",
    "opentelemetry.sdk",
    "pygit2",
    "pygments",
    "rapidfuzz",
    "requests",
    "starlette",
    "tree_sitter_bash",
    "uvicorn",
    "desktop_agent.app",
    "desktop_agent.rest",
    "desktop_agent.ui",
)
"""Modules that these commands must not load: the window, providers' clients, git and the shell's grammar."""

WITHOUT_A_SESSION = (
    *FOREIGN,
    "desktop_agent.composition",
    "desktop_agent.core.policy.engine",
    "desktop_agent.core.providers",
    "desktop_agent.core.session",
    "desktop_agent.headless",
)
READING_ONLY = (*WITHOUT_A_SESSION, "pydantic", "desktop_agent.core.capture", "desktop_agent.core.tools")


def loaded_after(program: str, *candidates: str) -> list[str]:
    """Return which of `candidates` a fresh interpreter has imported after `program`."""
    report = f"import json, sys; print(json.dumps([name for name in {candidates!r} if name in sys.modules]))"
    done = subprocess.run(  # noqa: TID251 - an interpreter of its own is the point
        [sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return cast("list[str]", json.loads(done.stdout.splitlines()[-1]))


def loaded_by(*commands: list[str], unwanted: tuple[str, ...]) -> list[str]:
    """Return which of `unwanted` a process loads that runs these commands one after the other."""
    program = (
        f"from desktop_agent.cli import main\nfor command in {commands!r}:\n    assert main(command) == 0, command"
    )
    return loaded_after(program, *unwanted)


def test_saying_what_it_is_takes_no_machinery() -> None:
    program = """
from desktop_agent.cli import main
for argument in ("--version", "--help"):
    try:
        main([argument])
    except SystemExit as end:
        assert not end.code
"""
    assert loaded_after(program, *HEAVY, "desktop_agent.composition.workbench", "desktop_agent.app") == []


def test_what_only_reads_loads_no_session_and_no_pydantic() -> None:
    reading = (
        *(["sessions", "list"], ["config", "show"], ["config", "get", "model.name"], ["config", "path"]),
        *(["storage", "show"], ["costs"], ["costs", "--by", "tool"], ["agents", "list"]),
    )
    assert loaded_by(*reading, unwanted=READING_ONLY) == []


def test_changes_and_sessions_are_read_without_a_session_and_without_pydantic() -> None:
    assert loaded_after("import desktop_agent.cli.changes", *READING_ONLY, "pydantic_core") == []
    assert loaded_after("import desktop_agent.cli.sessions", *READING_ONLY) == []


def test_tools_are_listed_and_sessions_verified_without_a_session() -> None:
    assert loaded_by(["tools", "list"], ["sessions", "verify"], unwanted=WITHOUT_A_SESSION) == []


def test_a_slash_command_runs_without_a_providers_sdk() -> None:
    assert loaded_by(["run", "--provider", "demo", "--prompt", "/help"], unwanted=FOREIGN) == []


def test_a_run_with_a_plain_key_loads_no_sdk_no_library_of_a_cloud_and_nothing_for_telemetry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
    telemetry = ("opentelemetry.sdk", "opentelemetry.exporter", "google.protobuf", "requests", "urllib3")
    unwanted = (*QT, *CLOUDS, "anthropic", "openai", *telemetry, "desktop_agent.core.telemetry.pipeline")
    with serve(reply(text("Hi."))) as server:
        run = ["run", "--provider", "anthropic", "--base-url", server.url, "--prompt", "Hi", "--approval", "never"]
        assert loaded_by(run, unwanted=unwanted) == []
        assert len(server.messages) == 1


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
