"""Which language servers there are: installed, the user's, and a project's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.extensions.language_servers import (
    KNOWN_SERVERS,
    LanguageServerBook,
    item_of,
    own_servers,
    project_servers,
    server_items,
    servers_in,
)
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import FoundTable
from desktop_agent.core.settings.sections import DiagnosticsSettings, Settings
from desktop_agent.core.settings.workspace_settings import Answer, ProjectTrust, WorkspaceSettings

FILE = Path("/project/.lsp.json")
GO = {"command": "gopls", "args": ["serve"], "extensionToLanguage": {".go": "go"}}


def no_secret(_path: Path, _status: os.stat_result) -> str:
    return ""


def table(value: object, *, is_project: bool = False) -> FoundTable:
    return FoundTable(
        key="diagnostics.definitions", value=value, number=1, path=Path("config.toml"), line=1, is_project=is_project
    )


def book(root: Path, bin_folder: Path, settings: Settings | None = None) -> LanguageServerBook:
    workspace = WorkspaceSettings(
        LiveSettings(settings or Settings()),
        root,
        ProjectTrust(root.parent / "answers"),
        lambda folder: tuple(server_items(folder, no_secret)),
    )
    workspace.look()
    return LanguageServerBook(workspace=workspace, environ={"PATH": str(bin_folder)}, secret_at=no_secret)


def install(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def standing(of: LanguageServerBook) -> Mapping[str, str]:
    return {each.server.name: each.standing for each in of.read()[0]}


def test_claude_codes_file_is_read() -> None:
    more = {
        "env": {"A": "b"}, "initializationOptions": {"x": [1]}, "settings": {"gopls": {"staticcheck": True}},
        "startupTimeout": 5_000, "maxRestarts": 1, "transport": "stdio", "workspaceFolder": "ignored",
    }  # fmt: skip
    found = servers_in(json.dumps({"go": GO | more}).encode(), FILE)
    assert not found.problems
    (server,) = found.servers
    assert (server.name, server.line, server.scope) == ("go", "gopls serve", "project")
    assert (server.startup_timeout_s, server.max_restarts, dict(server.env)) == (5.0, 1, {"A": "b"})
    assert server.language_of("pkg/main.go") == "go"
    assert server.language_of("main.py") is None


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "an object with a command"),
        ({"command": ""}, "extensionToLanguage"),
        (GO | {"extensionToLanguage": {"go": "go"}}, "ends of files"),
        (GO | {"transport": "socket"}, "transport"),
        (GO | {"command": 7}, "command"),
        (GO | {"settings": []}, "settings"),
        (GO | {"maxRestarts": -1}, "maxRestarts"),
    ],
)
def test_a_mistake_is_a_problem_in_words(values: object, problem: str) -> None:
    found = servers_in(json.dumps({"go": values, "fine": GO}).encode(), FILE)
    assert [server.name for server in found.servers] == ["fine"]
    assert problem in found.problems[0].message


@pytest.mark.parametrize("name", ["", "../x", "/etc/x", "a b", "\u202ex", "x" * 41, ".x"])
def test_a_name_is_that_of_a_file(name: str) -> None:
    found = servers_in(json.dumps({name: GO}).encode(), FILE)
    assert not found.servers
    assert "a name has" in found.problems[0].message


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_a_broken_file_is_a_problem(content: bytes) -> None:
    assert servers_in(content, FILE).problems


def test_a_server_that_is_not_for_diagnostics_is_left_out() -> None:
    assert servers_in(json.dumps({"go": GO | {"diagnostics": False}}).encode(), FILE).servers == ()


def test_restarts_can_be_switched_off() -> None:
    (server,) = servers_in(json.dumps({"go": GO | {"restartOnCrash": False}}).encode(), FILE).servers
    assert server.max_restarts == 0


def test_the_users_settings_define_servers() -> None:
    values = {"name": "mine", "command": "x", "languages": {".x": "x"}, "sandbox": False, "read_folders": ["~/x"]}
    (server,) = own_servers([table(values)]).servers
    assert (server.scope, server.is_confined, server.read_folders) == ("own", False, ("~/x",))
    assert own_servers([table(values | {"colour": "red"})]).problems


def test_a_project_defines_none_in_its_settings() -> None:
    found = own_servers([table({"name": "mine", "command": "x", "languages": {".x": "x"}}, is_project=True)])
    assert not found.servers
    assert ".lsp.json" in found.problems[0].message


def test_a_project_cannot_leave_the_sandbox(tmp_path: Path) -> None:
    (server,) = servers_in(json.dumps({"go": GO | {"sandbox": False, "read_folders": ["~"]}}).encode(), FILE).servers
    assert server.is_confined
    assert server.read_folders == ()


@pytest.mark.parametrize("answer", [None, "ignored"])
def test_a_project_that_is_not_trusted_takes_no_servers_place(tmp_path: Path, answer: Answer | None) -> None:
    root = tmp_path / "project"
    root.mkdir()
    install(tmp_path / "bin", "gopls")
    (root / ".lsp.json").write_text(json.dumps({"gopls": GO, "mine": GO}))
    found = book(root, tmp_path / "bin")
    if answer is not None:
        found.workspace.remember_items(answer, tuple(server_items(root, no_secret)))
    states = {one.server.name: (one.server.scope, one.standing) for one in found.read()[0]}
    assert states["gopls"] == ("known", "in force")
    assert states["mine"] == ("project", "off" if answer else "waiting")


def test_what_is_installed_is_found(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    install(tmp_path / "bin", "gopls", "pyright-langserver")
    found = standing(book(root, tmp_path / "bin"))
    assert found["gopls"] == found["pyright"] == "in force"
    assert found["basedpyright"] == found["clangd"] == "not installed"


def test_of_two_that_do_the_same_one_is_used(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    install(tmp_path / "bin", "basedpyright-langserver", "pyright-langserver")
    one = next(each for each in book(root, tmp_path / "bin").read()[0] if each.server.name == "pyright")
    assert (one.standing, one.rival) == ("off", "basedpyright")
    rival_off = Settings(diagnostics=DiagnosticsSettings(off=("basedpyright",)))
    assert standing(book(root, tmp_path / "bin", rival_off))["pyright"] == "in force"


def test_a_plugins_server_is_in_force_with_its_plugin_and_takes_the_place_of_a_known_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    install(tmp_path / "bin", "gopls")
    (server,) = servers_in(json.dumps({"go": GO}).encode(), FILE).servers
    made = book(root, tmp_path / "bin")
    for state, expected in (("on", "in force"), ("changed", "waiting"), ("unusable", "off")):
        found = standing(replace(made, of_plugins=lambda state=state: [(state, server)]))
        assert (found["go"], found["gopls"]) == (expected, "off" if expected == "in force" else "in force")


def test_a_program_in_the_folder_is_not_found(tmp_path: Path) -> None:
    """The model could have written it."""
    root = tmp_path / "project"
    root.mkdir()
    install(root / "bin", "gopls")
    assert standing(book(root, root / "bin"))["gopls"] == "not installed"


def test_a_projects_server_waits_for_trust_and_again_when_it_changed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    install(tmp_path / "bin", "gopls")
    (root / ".lsp.json").write_text(json.dumps({"go": GO}))
    of = book(root, tmp_path / "bin")
    assert standing(of)["go"] == "waiting"
    assert of.workspace.is_waiting
    (server,) = project_servers(root, no_secret).servers
    of.workspace.remember_items("trusted", [item_of(server, root)])
    assert standing(of)["go"] == "in force"
    (root / ".lsp.json").write_text(json.dumps({"go": GO | {"args": ["--evil"]}}))
    assert standing(of)["go"] == "waiting"
    of.workspace.remember_items("ignored", tuple(server_items(root, no_secret)))
    assert standing(of)["go"] == "off"


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "elsewhere.json").write_text(json.dumps({"go": GO}))
    (root / ".lsp.json").symlink_to(tmp_path / "elsewhere.json")
    found = project_servers(root, no_secret)
    assert not found.servers
    assert "link" in found.problems[0].message


def test_the_known_have_names_of_their_own() -> None:
    names = [server.name for server in KNOWN_SERVERS]
    assert len(set(names)) == len(names)
    assert all(server.instead_of in ("", *names) for server in KNOWN_SERVERS)
