"""`desktop-agent mcp`, as people start it."""

import io
import json
import os
import sys
from pathlib import Path

import pytest
from keyring.errors import NoKeyringError

from desktop_agent.cli import main
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.servers.conftest import pypi_server
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring
from tests.sandboxes import sandbox_named
from tests.servers.mcp_authorization import wanting_a_sign_in
from tests.servers.mcp_http import McpHttpServer, serve_mcp

ADD = ["mcp", "add", "mine", "--env", "A=b", "--", sys.executable, "-S", str(PROGRAM)]


def test_a_server_is_added_tested_switched_and_removed(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(ADD) == 0
    assert main(["mcp", "disable", "mine/hang"]) == 0
    assert main(["mcp", "disable", "mine/"]) == 2, "a tool was meant, not the whole server"
    assert main(["mcp", "disable", "mine/\udcff"]) == 2, "which is how a byte that is no text comes in"
    capsys.readouterr()
    assert main(["mcp", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["servers"]
    assert (listed["name"], listed["state"], listed["disabled_tools"]) == ("mine", "starts when needed", ["hang"])

    assert main(["mcp", "test", "mine"]) == 0
    shown = capsys.readouterr()
    assert "mine works: program 1, protocol 2025-11-25 (with a handshake)." in shown.out
    assert "echo" in shown.out
    assert shown.err.startswith(f"Starting {sys.executable}")

    assert main(["mcp", "remove", "mine"]) == 0
    capsys.readouterr()
    assert main(["mcp", "list"]) == 0
    assert capsys.readouterr().out.startswith("No MCP server is defined.")


def test_a_test_says_which_tools_changed_since_they_were_allowed(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(ADD) == 0
    assert main(["mcp", "test", "mine"]) == 0
    assert "allowed" not in capsys.readouterr().out  # nothing ever was, and nothing is changed
    assert main(["mcp", "test", "mine", "--accept", "--json"]) == 0
    assert {tool["definition"] for tool in json.loads(capsys.readouterr().out)["tools"]} == {"allowed"}
    (tmp_path / "tools.json").write_text('{"echo": {"description": "Pass \u202e all."}, "write": {"name": "write2"}}')

    assert main(["mcp", "test", "mine"]) == 0
    shown = capsys.readouterr().out
    assert "Changed since you allowed it: echo." in shown
    assert "  -   The tool echo." in shown
    assert "  +   Pass ⟨U+202E⟩ all." in shown
    assert "Not among those that you allowed: write2." in shown

    assert main(["mcp", "test", "mine", "--json"]) == 0
    tools = {tool["name"]: tool["definition"] for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert (tools["echo"], tools["write2"], tools["die"]) == ("changed", "unknown", "allowed")

    assert main(["mcp", "remove", "mine"]) == 0
    assert main(ADD) == 0
    capsys.readouterr()
    assert main(["mcp", "test", "mine", "--json"]) == 0
    assert "allowed" not in {tool.get("definition") for tool in json.loads(capsys.readouterr().out)["tools"]}


def test_a_server_of_the_catalogue_is_defined_by_its_name(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "catalogue", "--json"]) == 0
    known = {each["name"]: each["where"] for each in json.loads(capsys.readouterr().out)["servers"]}
    assert main(["mcp", "add", "browser", "--from", "playwright"]) == 0
    assert main(["mcp", "add", "hub", "--from", "github", "--header", "X-Team=blue"]) == 0
    capsys.readouterr()
    assert main(["mcp", "list", "--json"]) == 0
    listed = {each["name"]: each["where"] for each in json.loads(capsys.readouterr().out)["servers"]}
    assert listed == {"browser": known["playwright"], "hub": known["github"]}
    assert main(["mcp", "add", "x", "--from", "nothing"]) == 2
    assert "filesystem, git" in capsys.readouterr().err
    assert main(["mcp", "add", "x", "--from", "git", "--url", "https://mcp.example"]) == 2


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    """Return what `mcp list` says of each server."""
    capsys.readouterr()
    assert main(["mcp", "list", "--json"]) == 0
    return {each["name"]: each for each in json.loads(capsys.readouterr().out)["servers"]}


def test_what_confines_a_server_is_said_when_it_is_defined_and_listed(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--sandbox", "--folder", ".", "--folder", "~/a", "--read-folder", "~/b", "--host", "Example.org"]
    assert main(["mcp", "add", "mine", *options, "--", "sh"]) == 0
    words = "Confined: it writes the open folder and ~/a, also reads ~/b and reaches example.org."
    assert words in capsys.readouterr().out
    assert main(["mcp", "add", "clock", "--from", "time"]) == 0
    assert main(["mcp", "add", "files", "--from", "filesystem", "--folder", "~/notes", "--host", "example.org"]) == 0
    assert main(["mcp", "add", "free", "--from", "time", "--no-sandbox"]) == 0
    assert main(["mcp", "add", "far", "--url", "https://mcp.example"]) == 0

    found = {name: server["confinement"] for name, server in listed(capsys).items()}
    assert found == {
        "mine": words,
        "clock": "Confined: it writes nothing of yours and reaches no network.",
        "files": "Confined: it writes the open folder and ~/notes and reaches example.org.",
        "free": "Not confined: it can do all that you can do.",
        "far": "",
    }
    assert main(["mcp", "list"]) == 0
    table = capsys.readouterr().out
    assert [word in table for word in ("confined", "not confined", "elsewhere")] == [True] * 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--folder", ".", "--", "sh"], "Add --sandbox"),
        (["--from", "time", "--no-sandbox", "--host", "example.org"], "Add --sandbox"),
        (["--sandbox", "--host", "https://example.org", "--", "sh"], "which is no host"),
        (["--sandbox", "--url", "https://mcp.example"], "nothing here confines it"),
    ],
)
def test_what_cannot_confine_is_refused_and_nothing_is_defined(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert main(["mcp", "add", "x", *options]) == 2
    assert says in capsys.readouterr().err
    assert listed(capsys) == {}


def test_a_confined_server_is_tested_in_its_sandbox(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sandbox_named("bubblewrap", os.environ)
    assert main(["mcp", "add", "clock", "--sandbox", "--", pypi_server("mcp-server-time")]) == 0
    capsys.readouterr()
    assert main(["mcp", "test", "clock"]) == 0
    assert "Confined: it writes nothing of yours and reaches no network." in capsys.readouterr().out


def test_a_server_that_does_not_work_says_why_with_its_last_words(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "add", "bad", "--", "sh", "-c", "echo no database >&2; exit 3"]) == 0
    capsys.readouterr()

    assert main(["mcp", "test", "bad", "--json"]) == 1

    document = json.loads(capsys.readouterr().out)
    assert (document["works"], document["problem"]) == (False, "It ended with exit code 3.")
    assert "no database" in document["log"]
    assert main(["mcp", "logs", "bad"]) == 0
    assert "no database" in capsys.readouterr().out


def test_servers_of_another_tool_are_imported_with_a_word_on_the_others(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a b": {"command": "x", "cwd": "sub"}, "old": {"type": "sse"}}}))

    assert main(["mcp", "import", str(file), "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["servers"] == ["a-b"]
    assert document["problems"][0].startswith("old: ")


@pytest.mark.parametrize(
    "words",
    [
        ["mcp", "add", "x"],
        ["mcp", "add", "x", "--url", "https://example.org", "--", "y"],
        ["mcp", "add", "a__b", "--", "y"],
        ["mcp", "test", "gone"],
        ["mcp", "remove", "gone"],
        ["mcp", "logs", "gone"],
        ["mcp", "logs", "../../data/other"],
        ["mcp", "logs", "n" * 5000],
        ["mcp", "import", "gone.json"],
    ],
)
def test_bad_usage_is_said_and_writes_nothing(
    isolated_home: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not (isolated_home / "desktop-agent" / "config" / "config.toml").exists()


def test_a_list_says_which_file_cannot_be_read_and_what_waits_for_trust(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = isolated_home / "desktop-agent" / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[broken")
    project = tmp_path / ".desktop-agent" / "config.toml"
    project.parent.mkdir()
    project.write_text('[[mcp.definitions]]\nname = "theirs"\ncommand = "cat"\n')

    assert main(["mcp", "list"]) == 0
    shown = capsys.readouterr().out
    assert str(settings) in shown.partition("Not used, because of what is wrong with it:")[2]
    assert shown.rstrip().endswith("(`desktop-agent config trust`): theirs.")
    assert main(["mcp", "test", "theirs"]) == 2
    assert str(settings) in capsys.readouterr().err

    settings.write_text("[mcp.definitions]\nname = 'one'\n")
    assert main(["mcp", "list", "--json"]) == 0
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "written as [[mcp.definitions]]" in problem

    settings.unlink()
    project.rename(project.with_name("other"))
    project.symlink_to("other")
    assert main(["mcp", "test", "theirs"]) == 2
    assert f"{project}: is a symbolic link, so it is not read" in capsys.readouterr().err


def test_the_doctor_names_the_servers_and_what_is_missing(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(ADD)
    main(["mcp", "add", "bad", "--", "no-such-program"])
    capsys.readouterr()

    main(["doctor", "--json"])

    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["mcp mine"]["state"] == "ok"
    assert checks["mcp bad"]["message"] == "There is no program 'no-such-program'."


def test_a_server_at_an_address_is_added_with_its_secret_tested_and_removed(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    token = "token-of-no-known-shape"
    with serve_mcp(McpHttpServer()) as server:
        assert main(["mcp", "add", "far", "--url", server.url, "--header", f"Authorization=Bearer {token}"]) == 0
        assert main(["mcp", "list", "--json"]) == 0
        assert main(["mcp", "test", "far"]) == 0

    shown = capsys.readouterr()
    assert "far works: reached 2, protocol 2026-07-28" in shown.out
    assert server.requests[-1][2]["authorization"] == f"Bearer {token}"
    files = b"".join(path.read_bytes() for path in isolated_home.rglob("*") if path.is_file())
    assert token not in f"{shown.out}{shown.err}{files}"
    assert main(["mcp", "remove", "far"]) == 0
    assert backend.entries == {}


def test_without_a_keyring_a_server_with_a_secret_is_not_defined(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keyring(monkeypatch, BrokenKeyring(NoKeyringError()))

    assert main(["mcp", "add", "far", "--url", "https://example.org/mcp", "--header", "X-Api-Key=secret-value"]) == 1

    shown = capsys.readouterr()
    assert "This system has no keyring" in shown.err
    assert "secret-value" not in shown.err
    assert main(["mcp", "list"]) == 0
    assert "No MCP server is defined." in capsys.readouterr().out


def test_the_user_signs_in_with_a_server_uses_it_and_signs_out(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    monkeypatch.setenv("BROWSER", f"{sys.executable} -m tests.servers.browser %s")
    server, authorization = wanting_a_sign_in()
    with serve_mcp(server):
        assert main(["mcp", "add", "far", "--url", server.url]) == 0
        assert main(["mcp", "test", "far"]) == 1
        assert "desktop-agent mcp sign-in far" in capsys.readouterr().out
        assert main(["mcp", "sign-in", "far"]) == 0
        shown = capsys.readouterr()
        assert main(["mcp", "test", "far"]) == 0
        assert main(["mcp", "sign-out", "far", "--json"]) == 0
        assert backend.entries == {}
        assert main(["mcp", "sign-in", "far"]) == 0
        assert main(["mcp", "remove", "far"]) == 0

    assert backend.entries == {}
    assert "You are signed in with far." in shown.out
    assert "Waiting for the browser" in shown.err
    assert not [secret for secret in authorization.secrets if secret in f"{shown}{capsys.readouterr()}"]


def test_a_client_that_is_registered_by_hand_is_defined_with_its_secret_and_removed(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    monkeypatch.setattr(sys, "stdin", io.StringIO("made-by-hand\n"))
    words = ["mcp", "add", "far", "--url", "https://far.example/mcp", "--client-id", "by-hand", "--client-secret"]

    assert main([*words, "--callback-port", "8123", "--issuer", "https://login.example"]) == 0

    (secret,) = backend.entries.values()
    assert secret.endswith("made-by-hand")
    before = dict(backend.entries)
    monkeypatch.setattr(sys, "stdin", io.StringIO("another"))
    assert main(words) == 2  # there is one of that name
    assert backend.entries == before
    file = (isolated_home / "desktop-agent" / "config" / "config.toml").read_text()
    assert 'client_id = "by-hand"' in file
    assert "callback_port = 8123" in file
    assert "made-by-hand" not in f"{file}{capsys.readouterr()}"
    assert main(["mcp", "remove", "far"]) == 0
    assert backend.entries == {}


def test_a_server_that_cannot_be_defined_leaves_no_secret(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    assert main(["mcp", "add", "far", "--url", "https://far.example/mcp"]) == 0
    for words, given in (
        (["far", "--url", "https://other.example/mcp", "--client-id", "x", "--client-secret"], "secret"),
        (["new", "--url", "https://far.example/mcp", "--client-id", "x", "--client-secret"], " \n"),
        (["new", "--url", "https://far.example/mcp", "--client-secret"], "secret"),
        (["new", "--url", "https://far.example/mcp", "--client-id", "x", "--grant", "client_credentials"], ""),
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        assert main(["mcp", "add", *words]) == 2

    assert backend.entries == {}


def test_a_file_that_cannot_be_written_leaves_no_secret(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    monkeypatch.setattr(sys, "stdin", io.StringIO("made-by-hand"))
    (isolated_home / "desktop-agent" / "config" / "config.toml").mkdir(parents=True)

    code = main(["mcp", "add", "far", "--url", "https://far.example/mcp", "--client-id", "x", "--client-secret"])

    assert code != 0
    assert backend.entries == {}


def test_a_sign_in_that_is_declined_ends_with_a_word_and_code_1(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keyring(monkeypatch, MemoryKeyring())
    monkeypatch.setenv("BROWSER", f"{sys.executable} -m tests.servers.browser %s")
    server, authorization = wanting_a_sign_in()
    authorization.is_declining = True
    with serve_mcp(server):
        assert main(["mcp", "add", "far", "--url", server.url]) == 0
        assert main(["mcp", "sign-in", "far"]) == 1

    assert "The sign-in with far was declined." in capsys.readouterr().err
