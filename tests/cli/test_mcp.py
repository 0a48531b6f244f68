import io
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from keyring.errors import NoKeyringError

from tests.command_line import CommandLine, Ran
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.servers.conftest import pypi_server
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring
from tests.sandboxes import sandbox_named
from tests.servers.mcp_authorization import wanting_a_sign_in
from tests.servers.mcp_http import McpHttpServer
from tests.servers.threaded import in_thread

ADD = ["add", "mine", "--env", "A=b", "--", sys.executable, "-S", str(PROGRAM)]


class Mcp(CommandLine):
    said = ""

    def __call__(self, *arguments: str | Path) -> Ran:
        ran = super().__call__("mcp", *arguments)
        self.said += ran.out + ran.err
        return ran

    @property
    def servers(self) -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in self.done("list", "--json").json["servers"]}


@pytest.fixture
def mcp(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mcp:
    monkeypatch.chdir(tmp_path)
    return Mcp(capsys)


def test_a_server_is_added_tested_switched_and_removed(mcp: Mcp) -> None:
    mcp.done(*ADD)
    mcp.done("disable", "mine/hang")
    assert mcp("disable", "mine/").code == 2, "a tool was meant, not the whole server"
    assert mcp("disable", "mine/\udcff").code == 2, "which is how a byte that is no text comes in"
    listed = mcp.servers["mine"]
    assert (listed["state"], listed["disabled_tools"]) == ("starts when needed", ["hang"])

    shown = mcp.done("test", "mine")
    assert "mine works: program 1, protocol 2025-11-25 (with a handshake)." in shown.out
    assert "echo" in shown.out
    assert shown.err.startswith(f"Starting {sys.executable}")

    mcp.done("remove", "mine")
    assert mcp.done("list").out.startswith("No MCP server is defined.")


def test_what_starts_a_server_is_listed_as_a_shell_takes_it(mcp: Mcp) -> None:
    words = ["sh", "-c", "echo 'it is' \"$HOME\"", "two words", ""]
    mcp.done("add", "mine", "--", *words)
    assert shlex.split(mcp.servers["mine"]["where"]) == words
    assert mcp.servers["mine"]["where"] in mcp.done("list").out
    mcp.done("add", "again", "--", *shlex.split(mcp.servers["mine"]["where"]))
    assert mcp.servers["again"]["where"] == mcp.servers["mine"]["where"]


def test_a_test_says_which_tools_changed_since_they_were_allowed(mcp: Mcp, tmp_path: Path) -> None:
    mcp.done(*ADD)
    assert "allowed" not in mcp.done("test", "mine").out  # there was none, and nothing changes
    assert {tool["definition"] for tool in mcp.done("test", "mine", "--accept", "--json").json["tools"]} == {"allowed"}
    (tmp_path / "tools.json").write_text('{"echo": {"description": "Pass \u202e all."}, "write": {"name": "write2"}}')

    shown = mcp.done("test", "mine").out
    assert "Changed since you allowed it: echo." in shown
    assert "  -   The tool echo." in shown
    assert "  +   Pass ⟨U+202E⟩ all." in shown
    assert "Not among those that you allowed: write2." in shown

    tools = {tool["name"]: tool["definition"] for tool in mcp.done("test", "mine", "--json").json["tools"]}
    assert (tools["echo"], tools["write2"], tools["die"]) == ("changed", "unknown", "allowed")

    mcp.done("remove", "mine")
    mcp.done(*ADD)
    assert "allowed" not in {tool.get("definition") for tool in mcp.done("test", "mine", "--json").json["tools"]}


def test_a_server_of_the_catalogue_is_defined_by_its_name(mcp: Mcp) -> None:
    known = {each["name"]: each["where"] for each in mcp.done("catalogue", "--json").json["servers"]}
    mcp.done("add", "browser", "--from", "playwright")
    mcp.done("add", "hub", "--from", "github", "--header", "X-Team=blue")
    assert {name: server["where"] for name, server in mcp.servers.items()} == {
        "browser": known["playwright"],
        "hub": known["github"],
    }
    ran = mcp("add", "x", "--from", "nothing")
    assert (ran.code, "filesystem, git" in ran.err) == (2, True)
    assert mcp("add", "x", "--from", "git", "--url", "https://mcp.example").code == 2


def test_what_confines_a_server_is_said_when_it_is_defined_and_listed(mcp: Mcp) -> None:
    options = ["--sandbox", "--folder", ".", "--folder", "~/a", "--read-folder", "~/b", "--host", "Example.org"]
    words = "Confined: it writes the open folder and ~/a, also reads ~/b and reaches example.org."
    assert words in mcp.done("add", "mine", *options, "--", "sh").out
    mcp.done("add", "clock", "--from", "time")
    mcp.done("add", "files", "--from", "filesystem", "--folder", "~/notes", "--host", "example.org")
    mcp.done("add", "free", "--from", "time", "--no-sandbox")
    mcp.done("add", "far", "--url", "https://mcp.example")

    found = {name: server["confinement"] for name, server in mcp.servers.items()}
    assert found == {
        "mine": words,
        "clock": "Confined: it writes none of your files and reaches no network.",
        "files": "Confined: it writes the open folder and ~/notes and reaches example.org.",
        "free": "Not confined: it can do all that you can do.",
        "far": "",
    }
    table = mcp.done("list").out
    assert [word in table for word in ("confined", "not confined", "elsewhere")] == [True] * 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--folder", ".", "--", "sh"], "Add --sandbox"),
        (["--from", "time", "--no-sandbox", "--host", "example.org"], "Add --sandbox"),
        (["--sandbox", "--host", "https://example.org", "--", "sh"], "which is not a host"),
        (["--sandbox", "--url", "https://mcp.example"], "nothing here confines it"),
    ],
)
def test_what_cannot_confine_is_refused_and_nothing_is_defined(mcp: Mcp, options: list[str], says: str) -> None:
    ran = mcp("add", "x", *options)
    assert (ran.code, says in ran.err) == (2, True)
    assert mcp.servers == {}


def test_a_confined_server_is_tested_in_its_sandbox(mcp: Mcp) -> None:
    sandbox_named("bubblewrap", os.environ)
    mcp.done("add", "clock", "--sandbox", "--", pypi_server("mcp-server-time"))
    assert "Confined: it writes none of your files and reaches no network." in mcp.done("test", "clock").out


def test_a_server_that_does_not_work_says_why_with_its_last_words(mcp: Mcp) -> None:
    mcp.done("add", "bad", "--", "sh", "-c", "echo no database >&2; exit 3")
    ran = mcp("test", "bad", "--json")
    assert (ran.code, ran.json["works"], ran.json["problem"]) == (1, False, "It ended with exit code 3.")
    assert "no database" in ran.json["log"]
    assert "no database" in mcp.done("logs", "bad").out


def test_servers_of_another_tool_are_imported_with_a_word_on_the_others(mcp: Mcp, tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a b": {"command": "x", "cwd": "sub"}, "old": {"type": "sse"}}}))

    document = mcp.done("import", file, "--json").json
    assert document["servers"] == ["a-b"]
    assert document["problems"][0].startswith("old: ")


@pytest.mark.parametrize(
    "words",
    [
        ["add", "x"],
        ["add", "x", "--url", "https://example.org", "--", "y"],
        ["add", "a__b", "--", "y"],
        ["test", "gone"],
        ["remove", "gone"],
        ["logs", "gone"],
        ["logs", "../../data/other"],
        ["logs", "n" * 5000],
        ["import", "gone.json"],
    ],
)
def test_bad_usage_is_said_and_writes_nothing(mcp: Mcp, isolated_home: Path, words: list[str]) -> None:
    ran = mcp(*words)
    assert (ran.code, ran.err.startswith("error: ")) == (2, True)
    assert not (isolated_home / "desktop-agent" / "config" / "config.toml").exists()


def test_a_projects_server_whose_script_changed_is_listed_and_tested_as_waiting(mcp: Mcp, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_bytes(PROGRAM.read_bytes())
    project = tmp_path / ".desktop-agent" / "config.toml"
    project.parent.mkdir()
    project.write_text(f'[[mcp.definitions]]\nname = "theirs"\ncommand = "{sys.executable}"\nargs = ["s.py"]\n')
    assert CommandLine.__call__(mcp, "config", "trust").code == 0
    assert mcp("test", "theirs").code == 0
    (tmp_path / "s.py").write_text("open('ran', 'w').close()")
    ran = mcp("test", "theirs")
    assert (ran.code, "not as you trusted them" in ran.out, "config trust" in ran.out) == (1, True, True)
    shown = mcp.done("list", "--json").json
    assert ([each["state"] for each in shown["servers"]], shown["waiting_for_trust"]) == (
        ["waiting for trust"],
        ["theirs"],
    )
    assert not (tmp_path / "ran").exists()


def test_a_list_says_which_file_cannot_be_read_and_what_waits_for_trust(
    mcp: Mcp, isolated_home: Path, tmp_path: Path
) -> None:
    settings = isolated_home / "desktop-agent" / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[broken")
    project = tmp_path / ".desktop-agent" / "config.toml"
    project.parent.mkdir()
    project.write_text('[[mcp.definitions]]\nname = "theirs"\ncommand = "cat"\n')

    shown = mcp.done("list").out
    assert str(settings) in shown.partition("Not used, because of what is wrong with it:")[2]
    assert shown.rstrip().endswith("(`desktop-agent config trust`): theirs.")
    ran = mcp("test", "theirs")
    assert (ran.code, str(settings) in ran.err) == (2, True)

    settings.write_text("[mcp.definitions]\nname = 'one'\n")
    (problem,) = mcp.done("list", "--json").json["problems"]
    assert "written as [[mcp.definitions]]" in problem

    settings.unlink()
    project.rename(project.with_name("other"))
    project.symlink_to("other")
    ran = mcp("test", "theirs")
    assert (ran.code, f"{project}: is a symbolic link, so it is not read" in ran.err) == (2, True)


def test_a_server_at_an_address_is_added_with_its_secret_tested_and_removed(
    mcp: Mcp, backend: MemoryKeyring, isolated_home: Path
) -> None:
    token = "token-of-no-known-shape"
    with in_thread(McpHttpServer()) as (server, _):
        mcp.done("add", "far", "--url", server.url, "--header", f"Authorization=Bearer {token}")
        mcp.done("list", "--json")
        shown = mcp.done("test", "far")
    assert "far works: reached 2, protocol 2026-07-28" in shown.out
    assert server.requests[-1][2]["authorization"] == f"Bearer {token}"
    files = b"".join(path.read_bytes() for path in isolated_home.rglob("*") if path.is_file())
    assert token not in f"{mcp.said}{files}"
    mcp.done("remove", "far")
    assert backend.entries == {}


def test_without_a_keyring_a_server_with_a_secret_is_not_defined(mcp: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    use_keyring(monkeypatch, BrokenKeyring(NoKeyringError()))

    shown = mcp("add", "far", "--url", "https://example.org/mcp", "--header", "X-Api-Key=secret-value")
    assert shown.code == 1
    assert "This system has no keyring" in shown.err
    assert "secret-value" not in shown.err
    assert "No MCP server is defined." in mcp.done("list").out


def test_the_user_signs_in_with_a_server_uses_it_and_signs_out(
    mcp: Mcp, backend: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", f"{sys.executable} -m tests.servers.browser %s")
    server, authorization = wanting_a_sign_in()
    with in_thread(server):
        mcp.done("add", "far", "--url", server.url)
        before = mcp("test", "far")
        assert (before.code, "desktop-agent mcp sign-in far" in before.out) == (1, True)
        shown = mcp.done("sign-in", "far")
        mcp.done("test", "far")
        mcp.done("sign-out", "far", "--json")
        assert backend.entries == {}
        mcp.done("sign-in", "far")
        mcp.done("remove", "far")

    assert backend.entries == {}
    assert "You are signed in with far." in shown.out
    assert "Waiting for the browser" in shown.err
    assert not [secret for secret in authorization.secrets if secret in mcp.said]


def test_a_client_that_is_registered_by_hand_is_defined_with_its_secret_and_removed(
    mcp: Mcp, backend: MemoryKeyring, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("made-by-hand\n"))
    words = ["add", "far", "--url", "https://far.example/mcp", "--client-id", "by-hand", "--client-secret"]
    mcp.done(*words, "--callback-port", "8123", "--issuer", "https://login.example")
    (secret,) = backend.entries.values()
    assert secret.endswith("made-by-hand")
    before = dict(backend.entries)
    monkeypatch.setattr(sys, "stdin", io.StringIO("another"))
    assert mcp(*words).code == 2  # there is one of that name
    assert backend.entries == before
    file = (isolated_home / "desktop-agent" / "config" / "config.toml").read_text()
    assert 'client_id = "by-hand"' in file
    assert "callback_port = 8123" in file
    assert "made-by-hand" not in f"{file}{mcp.said}"
    mcp.done("remove", "far")
    assert backend.entries == {}


def test_a_server_that_cannot_be_defined_leaves_no_secret(
    mcp: Mcp, backend: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp.done("add", "far", "--url", "https://far.example/mcp")
    for words, given in (
        (["far", "--url", "https://other.example/mcp", "--client-id", "x", "--client-secret"], "secret"),
        (["new", "--url", "https://far.example/mcp", "--client-id", "x", "--client-secret"], " \n"),
        (["new", "--url", "https://far.example/mcp", "--client-secret"], "secret"),
        (["new", "--url", "https://far.example/mcp", "--client-id", "x", "--grant", "client_credentials"], ""),
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        assert mcp("add", *words).code == 2

    assert backend.entries == {}


def test_a_file_that_cannot_be_written_leaves_no_secret(
    mcp: Mcp, backend: MemoryKeyring, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("made-by-hand"))
    (isolated_home / "desktop-agent" / "config" / "config.toml").mkdir(parents=True)

    words = ["add", "far", "--url", "https://far.example/mcp", "--client-id", "x", "--client-secret"]
    assert mcp(*words).code != 0
    assert backend.entries == {}


def test_a_sign_in_that_is_declined_ends_with_a_word_and_code_1(
    mcp: Mcp, backend: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", f"{sys.executable} -m tests.servers.browser %s")
    server, authorization = wanting_a_sign_in()
    authorization.is_declining = True
    with in_thread(server):
        mcp.done("add", "far", "--url", server.url)
        ran = mcp("sign-in", "far")
    assert (ran.code, "The sign-in with far was declined." in ran.err) == (1, True)
