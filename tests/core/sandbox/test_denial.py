"""Telling a refusal of the sandbox from another failure, by what a command printed."""

from pathlib import Path

import pytest

from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.denial import denial_in

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
