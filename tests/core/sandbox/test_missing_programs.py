"""A program that a command did not find although it is there: where it is, and what hides it."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.denial import denial_in, misplaced_program_in
from desktop_agent.core.sandbox.guarded import hidden_from
from desktop_agent.core.sandbox.home import Homes
from tests.core.sandbox.conftest import Place, Shell
from tests.core.sandbox.test_denial import RESTRICTED
from tests.core.sandbox.test_home import found, program
from tests.core.sandbox.test_ordinary_work import restricted


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    """One home, and a folder of `PATH` that has links into it."""
    base = tmp_path_factory.mktemp("programs")
    home, path = base / "home", base / "path"
    for name in ("apps/hidden", "apps/seen", "apps/plain", ".cargo/bin/aside"):
        program(home / name, "works")
    (home / "apps/plain").chmod(0o644)
    path.mkdir()
    for name in ("hidden", "seen", "plain"):
        (path / name).symlink_to(home / "apps" / name)
    return Homes(own=(home,), search=(path,))


def apps(path: Path) -> str:
    """A confinement that hides one program, by the link to it."""
    return "~/apps" if path.name == "hidden" else ""


SAYS_NOT_FOUND = [
    "sh: 1: {}: not found",
    "/bin/sh: 1: {}: not found",
    "{}: not found",
    "bash: {}: command not found",
    "bash: line 1: {}: command not found",
    "zsh:1: command not found: {}",
    "env: '{}': No such file or directory",
    "/usr/bin/env: ‘{}’: No such file or directory",
    "make: {}: No such file or directory",
    "xargs: {}: No such file or directory",
    "timeout: failed to run command '{}': No such file or directory",
    "FileNotFoundError: [Errno 2] No such file or directory: '{}'",
    "Error: spawn {} ENOENT",
    'exec: "{}": executable file not found in $PATH',
]


@pytest.mark.parametrize("says", SAYS_NOT_FOUND)
def test_a_program_that_the_sandbox_hides_is_explained_by_its_name_alone(homes: Homes, says: str) -> None:
    said = denial_in(127, f"some output\n{says.format('hidden')}\n", RESTRICTED, is_hidden=apps, homes=homes)
    assert said
    assert said.startswith(f"The program `{homes.search[0] / 'hidden'}"[:100])
    assert "is in `~/apps`, which the sandbox hides" in said
    assert "home_visible" in said
    assert misplaced_program_in(says.format("hidden"), homes, lambda: apps) == ""


@pytest.mark.parametrize("name", ["seen", "plain", "absent", "aside", "no\u202e", "../apps/hidden"])
def test_a_program_that_is_not_hidden_is_not_blamed_on_the_sandbox(homes: Homes, name: str) -> None:
    assert denial_in(127, f"bash: {name}: command not found", RESTRICTED, is_hidden=apps, homes=homes) == ""


@pytest.mark.parametrize("says", SAYS_NOT_FOUND)
def test_a_program_outside_of_path_is_named_with_its_place(homes: Homes, says: str) -> None:
    said = misplaced_program_in(says.format("aside"), homes, lambda: apps)
    assert said.startswith("The program `aside` is not in the folders of PATH")
    assert misplaced_program_in(says.format("seen"), homes, lambda: apps) == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")
async def test_a_program_whose_link_leads_into_the_home_is_named_when_it_is_not_found(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As links in `/usr/local/bin`, whose targets are not followed into the home."""
    program(place.home / "apps" / "tool", "works")
    (place.outside / "tool").symlink_to(place.home / "apps" / "tool")
    monkeypatch.setenv("PATH", f"{place.outside}:{os.environ['PATH']}")
    shell = dataclasses.replace(shell, sandbox=found(shell.sandbox))
    outcome = await shell.restricted("tool")
    guards = shell.sandbox.guards
    hidden = hidden_from(restricted(place), guards)
    exit_code = outcome.end.exit_code or 0
    said = denial_in(exit_code, outcome.output.head, restricted(place), is_hidden=hidden, homes=guards.homes)
    assert said, outcome.output.head
    assert "`~/apps`" in said
    assert "home_visible" in said
