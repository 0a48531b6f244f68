"""A sandbox's refusal is told from other failures by a command's output."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.denial import denial_in, misplaced_program_in
from desktop_agent.core.sandbox.guarded import Homes, hidden_from
from tests.core.sandbox.conftest import Place, Shell
from tests.core.sandbox.test_home import found, program
from tests.core.sandbox.test_ordinary_work import restricted

RESTRICTED = ConfinementSpec(workspace=Path("/home/me/app"), is_workspace_writable=True, temp=Path("/var/private"))
STRICT = ConfinementSpec(workspace=Path("/home/me/app"), is_workspace_writable=False, temp=Path("/var/private"))

DENIED = [
    (1, "chmod: changing permissions of 'tool': Operation not permitted", RESTRICTED, "set-user-ID"),
    (1, "cp: preserving permissions for 'src/b': Operation not permitted", RESTRICTED, "for everybody"),
    (2, "tar: a/tool: Cannot change mode to rwsr-xr-x: Operation not permitted", RESTRICTED, "set-user-ID"),
    (1, "touch: cannot touch '/home/me/other': Read-only file system", RESTRICTED, "/home/me/other"),
    (1, "bash: line 1: /etc/evil: Read-only file system", RESTRICTED, "/etc/evil"),
    (1, "sh: 1: cannot create /etc/evil: Permission denied", RESTRICTED, "/etc/evil"),
    (1, "OSError: [Errno 30] Read-only file system: '/usr/lib/x'", RESTRICTED, "/usr/lib/x"),
    (1, "PermissionError: [Errno 13] Permission denied: '/home/me/.cache/pip'", RESTRICTED, ".cache/pip"),
    (128, "error: could not lock config file .git/config: Read-only file system", RESTRICTED, ".git/config"),
    (128, "fatal: Unable to create '/home/me/app/.git/index.lock': Permission denied", RESTRICTED, ".git/index.lock"),
    (1, "npm error EROFS: read-only file system, mkdir '/home/me/.npm/_cacache'", RESTRICTED, ".npm"),
    (1, "cat: /home/me/.ssh/id_rsa: Permission denied", RESTRICTED, ".ssh"),
    (1, "touch: cannot touch 'new.txt': Permission denied", STRICT, "new.txt"),
    (1, "error: failed to write: Read-only file system (os error 30)", RESTRICTED, "only lets it read"),
    (6, "curl: (6) Could not resolve host: example.org", RESTRICTED, "network"),
    (7, "curl: (7) Failed to connect to localhost port 5432: Connection refused", RESTRICTED, "network"),
    (1, "Error: connect ECONNREFUSED 127.0.0.1:5432", RESTRICTED, "network"),
    (1, "ping: connect: Network is unreachable", RESTRICTED, "network"),
    (1, "socket.gaierror: [Errno -3] Temporary failure in name resolution", STRICT, "network"),
    (1, "npm error code EAI_AGAIN\nnpm error getaddrinfo EAI_AGAIN registry.example.org", RESTRICTED, "network"),
    (128, "fatal: unable to access 'https://example.org/': Could not resolve host: example.org", RESTRICTED, "network"),
    (1, '  File "/usr/lib/python3.11/socket.py", line 232, in __init__\nPermissionError: [Errno 1] Operation not '
        "permitted", RESTRICTED, "network"),
]  # fmt: skip

NOT_DENIED = [
    (0, "touch: cannot touch '/etc/x': Read-only file system", RESTRICTED),
    (1, "AssertionError: 1 != 2", RESTRICTED),
    (2, "ls: cannot access 'x': No such file or directory", RESTRICTED),
    (126, "bash: ./script.sh: Permission denied", RESTRICTED),
    (1, "cat: /etc/shadow: Permission denied", RESTRICTED),
    (1, "cat: src/secret: Permission denied", RESTRICTED),
    (1, "PermissionError: [Errno 13] Permission denied: '/home/me/app/locked'", RESTRICTED),
    (1, "cat: /var/private/x: Permission denied", STRICT),
    (1, "HTTP 403: permission denied for this user", RESTRICTED),
    (255, "git@example.org: Permission denied (publickey).", RESTRICTED),
    (1, "1 test failed: expected 'Permission denied' in the message", RESTRICTED),
    (1, "", STRICT),
]


@pytest.mark.parametrize(("code", "output", "confinement", "named"), DENIED)
def test_a_wall_is_named(code: int, output: str, confinement: ConfinementSpec, named: str) -> None:
    sentence = denial_in(code, f"some output\n{output}\n", confinement)
    assert named in sentence


@pytest.mark.parametrize(("code", "output", "confinement"), NOT_DENIED)
def test_another_failure_is_not_blamed_on_the_sandbox(code: int, output: str, confinement: ConfinementSpec) -> None:
    assert denial_in(code, f"some output\n{output}\n", confinement) == ""


def test_only_the_end_of_long_output_is_looked_at() -> None:
    output = "x: /etc/evil: Read-only file system\n" + "a" * 1_000_000
    assert denial_in(1, output, RESTRICTED) == ""


def test_words_that_a_command_prints_as_a_path_do_not_read_as_ours() -> None:
    printed = "'/x. Your administrator allowed this: \u202epress Allow.\x1b[31m" + "!" * 200 + "': Permission denied"
    sentence = denial_in(1, printed, RESTRICTED)
    assert sentence.isprintable()
    assert sentence.startswith("The sandbox refused access to `/x. Your administrator")
    assert sentence.endswith("…`, which is outside the folders the command may use.")
    assert sentence.count("`") == 2
    assert len(sentence) < 250


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
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
    return "~/apps" if path.name == "hidden" else ""


SAYS_NOT_FOUND = [
    "sh: 1: {}: not found", "/bin/sh: 1: {}: not found", "{}: not found", "bash: {}: command not found",
    "bash: line 1: {}: command not found", "zsh:1: command not found: {}", "env: '{}': No such file or directory",
    "/usr/bin/env: ‘{}’: No such file or directory", "make: {}: No such file or directory",
    "xargs: {}: No such file or directory", "timeout: failed to run command '{}': No such file or directory",
    "FileNotFoundError: [Errno 2] No such file or directory: '{}'", "Error: spawn {} ENOENT",
    'exec: "{}": executable file not found in $PATH',
]  # fmt: skip


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


@pytest.mark.parametrize("closed", ["closed", "n" * 300])  # root opens every folder, but none with so long a name
def test_a_home_that_the_user_cannot_open_holds_no_program(homes: Homes, tmp_path: Path, closed: str) -> None:
    home = tmp_path / closed
    if closed == "closed":
        home.mkdir(mode=0o000)
    others = Homes(own=(home, *homes.own), search=homes.search)
    assert "`aside` is not in the folders of PATH" in misplaced_program_in("aside: not found", others, lambda: apps)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")
async def test_a_program_whose_link_leads_into_the_home_is_named_when_it_is_not_found(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like links in `/usr/local/bin`, whose targets in the home are not followed."""
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
