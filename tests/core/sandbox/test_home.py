"""A command sees an empty home folder with the tool chains that work needs."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.sandbox.denial import denial_in
from desktop_agent.core.sandbox.find import Sandbox
from desktop_agent.core.sandbox.guarded import hidden_from
from tests.core.sandbox.conftest import Place, Shell
from tests.core.sandbox.test_ordinary_work import restricted
from tests.sandboxes import sandbox_named

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


def program(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


def file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


WORKS = "#!/bin/sh\necho works\n"
TOOLS: dict[str, tuple[dict[str, str], str]] = {
    "rust": ({".rustup/toolchains/stable/bin/rustc": WORKS,
              ".cargo/bin/rustc": "-> ~/.rustup/toolchains/stable/bin/rustc"}, "rustc"),
    "environment": ({"venvs/a/bin/tool": WORKS, "venvs/a/pyvenv.cfg": "home = /usr/bin\n", "venvs/a/lib/data": "works"},
                    "tool && cat ~/venvs/a/lib/data"),
    "linked_tool": ({"tools/black/bin/black": WORKS, "tools/black/pyvenv.cfg": "works",
                     ".local/bin/black": "-> ../../tools/black/bin/black"}, "black && cat ~/tools/black/pyvenv.cfg"),
    "moved_cache": ({"big/npm/a": "works", ".npm": "-> big/npm"}, "cat ~/.npm/a"),
    "git_identity": ({".gitconfig": "[user]\n\tname = works\n\temail = me@example.org\n"},
                     "env -u GIT_CONFIG_GLOBAL git config user.name"),
    "settings_of_pip": ({".config/pip/pip.conf": "[global]\nindex-url = https://works.example.org/simple\n"},
                        "cat ~/.config/pip/pip.conf"),
    "terminal": ({".terminfo/x/x": "works"}, "cat ~/.terminfo/x/x"),
    "packages": ({".m2/repository/a": "works"}, "cat ~/.m2/repository/a"),
}  # fmt: skip
"""Files in the home, where `->` makes a link, and a command that needs them."""


def found(sandbox: Sandbox) -> Sandbox:
    return sandbox_named(sandbox.name, os.environ)


@pytest.mark.parametrize("name", TOOLS)
async def test_a_tool_chain_in_the_home_works(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files, script = TOOLS[name]
    for path, text in files.items():
        if text == WORKS:
            program(place.home / path, "works")
        elif text.startswith("-> "):
            (place.home / path).parent.mkdir(parents=True, exist_ok=True)
            (place.home / path).symlink_to(text.removeprefix("-> ").replace("~", str(place.home)))
        else:
            file(place.home / path, text)
    folders = [place.home / part for part in (".cargo/bin", "venvs/a/bin", ".local/bin")]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    shell = dataclasses.replace(shell, sandbox=found(shell.sandbox))
    outcome = await shell.restricted(script)
    assert (outcome.end.exit_code, "works" in outcome.output.head) == (0, True), outcome.output.head


async def test_a_setting_with_a_password_is_not_shown(shell: Shell, place: Place) -> None:
    file(place.home / ".gitconfig", "[http]\n\textraHeader = Authorization: Basic c2VjcmV0LXBhc3N3b3Jk\n")
    file(place.home / ".config" / "pip" / "pip.conf", "[global]\nindex-url = https://u:SECRET@h/simple\n")
    outcome = await shell.restricted("cat ~/.gitconfig ~/.config/pip/pip.conf")
    assert "c2Vj" not in outcome.output.head
    assert "SECRET" not in outcome.output.head


async def test_keys_stay_hidden_in_what_the_user_makes_visible(shell: Shell, place: Place) -> None:
    file(place.home / ".config" / "gh" / "hosts.yml", "SECRET")
    file(place.home / ".config" / "tool" / "a.toml", "shown")
    confinement = replace(restricted(place), visible=(place.home / ".config",))
    outcome = await shell.run("cat ~/.config/tool/a.toml ~/.config/gh/hosts.yml", confinement)
    assert "shown" in outcome.output.head
    assert "SECRET" not in outcome.output.head


async def test_a_link_that_a_command_placed_shows_nothing(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the workspace may be on `PATH`; its links are made by commands."""
    monkeypatch.setenv("PATH", f"{place.workspace}/src:{os.environ['PATH']}")
    shell = dataclasses.replace(shell, sandbox=found(shell.sandbox))
    await shell.restricted(f"ln -s {place.home}/notes.txt src/tool")
    assert "mine" not in (await shell.restricted("cat src/tool")).output.head


async def test_the_repository_around_the_workspace_is_seen(shell: Shell, place: Place) -> None:
    inner = place.workspace / "src"
    file(place.workspace / "shared" / "a", "shared")
    confinement = replace(restricted(place), workspace=inner)
    outcome = await shell.run("git log --oneline && cat ../shared/a", confinement)
    assert (outcome.end.exit_code, "shared" in outcome.output.head) == (0, True), outcome.output.head


async def test_what_is_missing_of_the_home_is_named(shell: Shell, place: Place) -> None:
    file(place.home / ".foo" / "secret" / "settings.toml", "x")
    file(place.home / ".config" / "bar" / "settings.toml", "x")
    for path, named in ((".foo/secret/settings.toml", "`~/.foo`"), (".config/bar/settings.toml", "`~/.config/bar`")):
        outcome = await shell.restricted(f"cat {place.home}/{path}")
        hidden = hidden_from(restricted(place), shell.sandbox.guards)
        said = denial_in(outcome.end.exit_code or 0, outcome.output.head, restricted(place), is_hidden=hidden)
        assert said, outcome.output.head
        assert named in said
        assert "home_visible" in said


def test_what_is_nowhere_is_not_blamed_on_the_sandbox(place: Place, sandbox: Sandbox) -> None:
    hidden = hidden_from(restricted(place), sandbox.guards)
    for path in (place.home / ".nowhere", place.workspace / "src" / "missing", Path("/usr/missing"), place.home):
        printed = f"cat: {path}: No such file or directory"
        assert denial_in(1, printed, restricted(place), is_hidden=hidden) == ""
