"""Commands must not load certain modules: each runs in a fresh interpreter."""

import pytest

from tests.core.test_imports import CLOUDS, QT, loaded_after
from tests.servers.script import reply, text
from tests.servers.threaded import serve

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


def loaded_by(arguments: list[str], *candidates: str) -> list[str]:
    program = f"from desktop_agent.cli import main\nassert main({arguments!r}) == 0"
    return loaded_after(program, *candidates)


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions", "list"],
        ["config", "show"],
        ["config", "get", "model.name"],
        ["config", "path"],
        ["storage", "show"],
        ["costs"],
        ["costs", "--by", "tool"],
        ["agents", "list"],
    ],
    ids=" ".join,
)
def test_what_only_reads_loads_no_session_and_no_pydantic(arguments: list[str]) -> None:
    assert loaded_by(arguments, *READING_ONLY) == []


def test_changes_are_read_without_a_session_and_without_pydantic() -> None:
    module = "import desktop_agent.cli.changes"
    assert loaded_after(module, *READING_ONLY, "pydantic_core") == []


def test_a_session_is_shown_and_verified_without_a_session_and_without_pydantic() -> None:
    assert loaded_after("import desktop_agent.cli.sessions", *READING_ONLY) == []


def test_the_tools_are_listed_without_a_session() -> None:
    assert loaded_by(["tools", "list"], *WITHOUT_A_SESSION) == []


def test_a_slash_command_runs_without_a_providers_sdk() -> None:
    assert loaded_by(["run", "--provider", "demo", "--prompt", "/help"], *FOREIGN) == []


def test_a_run_with_a_plain_key_loads_no_sdk_and_no_library_of_a_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
    with serve(reply(text("Hi."))) as server:
        run = ["run", "--provider", "anthropic", "--base-url", server.url, "--prompt", "Hi", "--approval", "never"]
        assert loaded_by(run, *QT, *CLOUDS, "anthropic", "openai") == []
        assert len(server.messages) == 1


def test_a_run_without_a_receiver_loads_nothing_for_telemetry() -> None:
    run = ["run", "--provider", "demo", "--prompt", "go", "--approval", "never"]
    unwanted = ("opentelemetry.sdk", "opentelemetry.exporter", "google.protobuf", "requests", "urllib3")
    assert loaded_by(run, *unwanted, "desktop_agent.core.telemetry.pipeline") == []
