"""Commands can do ordinary work in the sandbox."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.sandbox.confinement import ConfinementSpec, confinement_for
from desktop_agent.core.system.processes.runner import Command
from tests.core.sandbox.conftest import PYTHON, Place, Shell

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


def restricted(place: Place) -> ConfinementSpec:
    return confinement_for("restricted", place.workspace, place.temp, ())


async def test_restricted_writes_in_the_workspace(shell: Shell, place: Place) -> None:
    script = "echo b > src/b && mkdir -p src/c/d && mv src/b src/c/d && chmod +x src/c/d/b && rm src/a.txt"
    script += " && echo more >> top.txt"
    outcome = await shell.restricted(script)
    assert outcome.end.exit_code == 0, outcome.output.head
    assert os.access(place.workspace / "src" / "c" / "d" / "b", os.X_OK)
    assert not (place.workspace / "src" / "a.txt").exists()
    assert (place.workspace / "top.txt").read_text() == "top\nmore\n"


METADATA = """
set -e; umask 022
echo a > src/x; chmod +x src/x; test -x src/x; chmod -R go-w src
touch -d @1000 src/a.txt; chmod 754 src/a.txt; cp -p src/a.txt src/b; cp -rp src $TMPDIR/c
test "$(stat -c %Y:%a src/b $TMPDIR/c/a.txt | sort -u)" = 1000:754
(cd src; mkdir in; cp -p b in; tar cf in.tar in; rm -r in; tar xf in.tar; test $(stat -c %Y:%a in/b) = 1000:754)
install -m 751 -D src/a.txt src/bin/tool; test $(stat -c %a src/bin/tool) = 751
printf 'install: ; install -m 755 a.txt tool; touch -r a.txt tool; chmod g-x tool' > src/Makefile
make -sC src install; test $(stat -c %a src/tool) = 745
ls /proc/self/fd | tr '\\n' ' ' | grep -qx '0 1 2 3 '
ln -s nowhere src/link; touch -h -d @1000 src/link; test $(stat -c %Y src/link) = 1000
git init -q src/new; cd src/new; cp -p ../b .; git add b
git -c user.name=T -c user.email=t@e.org commit -qm x; git ls-files -s | grep -q ^100755
"""


async def test_modes_and_times_are_kept_and_changed(shell: Shell) -> None:
    outcome = await shell.restricted(METADATA)
    assert outcome.end.exit_code == 0, outcome.output.head


async def test_new_entries_at_the_top_need_bubblewrap(shell: Shell, place: Place) -> None:
    """Landlock would have to open `.git` with them."""
    outcome = await shell.restricted("echo new > new.txt")
    assert (place.workspace / "new.txt").exists() == (shell.sandbox.name == "bubblewrap")
    assert (outcome.end.exit_code == 0) == (shell.sandbox.name == "bubblewrap")


@pytest.mark.parametrize("mode", ["restricted", "strict"])
async def test_both_modes_have_a_private_temporary_folder(shell: Shell, place: Place, mode: str) -> None:
    run = shell.restricted if mode == "restricted" else shell.strict
    outcome = await run('echo here > "$TMPDIR/file" && name=$(mktemp) && rm "$name" && cat "$TMPDIR/file"')
    assert (outcome.end.exit_code, outcome.output.head) == (0, "here\n")
    assert (place.temp / "file").read_text() == "here\n"


async def test_strict_writes_nothing_of_the_persons(shell: Shell, place: Place) -> None:
    scripts = ("echo x > top.txt", "rm src/a.txt", "mkdir src/new", "touch new", "chmod 600 top.txt")
    for script in scripts:
        assert (await shell.strict(script)).end.exit_code != 0, script
    assert sorted(path.name for path in place.workspace.rglob("*") if ".git" not in path.parts) == [
        "a.txt",
        "src",
        "top.txt",
    ]
    assert (place.workspace / "top.txt").read_text() == "top\n"


WORK = {
    "system_files": "head -c 1 /etc/passwd >/dev/null && ls /usr/bin | head -1",
    "python": "$PYTHON -c 'import asyncio, json, ssl; asyncio.run(asyncio.sleep(0))'",
    "git": "git status --porcelain && git log --oneline && git diff",
    "list": "ls -la . src && cat src/a.txt",
    "pipes": "seq 100 | sort -n | tail -1 && diff <(echo a) <(echo a)",
    "devices": "head -c 8 /dev/urandom >/dev/null && echo x > /dev/null",
    "threads": "$PYTHON -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'",
    "tables": "$PYTHON -c 'import sys, sqlite3; sqlite3.connect(sys.argv[1]).execute(\"create table a(b)\")' $TMPDIR/d",
    "pairs": "$PYTHON -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); b.recv(1)'",
    "pool": "$PYTHON -c 'from concurrent.futures import ThreadPoolExecutor as P; list(P(4).map(str, range(9)))'",
    "own_limits": "ulimit -n 64 && nice -n 5 true && $PYTHON -c 'import os; os.sched_setaffinity(0, [0])'",
    "processes": "$PYTHON -c 'import subprocess; print(subprocess.check_output([\"true\"]))'",
}


@pytest.mark.parametrize("script", WORK.values(), ids=WORK.keys())
@pytest.mark.parametrize("mode", ["restricted", "strict"])
@pytest.mark.sampled(2, "sandbox", "mode", "script")
async def test_reading_and_running_works(shell: Shell, mode: str, script: str) -> None:
    outcome = await (shell.restricted if mode == "restricted" else shell.strict)(script)
    assert outcome.end.exit_code == 0, outcome.output.head


async def test_the_exit_code_comes_through(shell: Shell) -> None:
    for script, code in (
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
    ):
        assert (await shell.restricted(script)).end.exit_code == code, script


async def test_arguments_folder_environment_and_input_are_the_same(shell: Shell, place: Place) -> None:
    argv = (
        PYTHON,
        "-c",
        "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['ODD'], os.environ.get('LD_X'), sys.stdin.read())",
        "--",
        "a b",
        "ü\udcff".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"),
        "$(evil) 'x' \n",
        "--ro-bind",
    )
    environ = {**os.environ, "ODD": "a=b 'c'", "LD_X": "kept", "PYTHONIOENCODING": "utf-8:surrogateescape"}
    command = Command(argv=argv, cwd=place.workspace / "src", environ=environ, stdin="input")
    plain = await shell.runner.run(command)
    confined = await shell.runner.run(shell.sandbox.wrap(command, restricted(place)))
    assert plain.end.exit_code == 0, plain.output.head
    assert confined.output.head == plain.output.head


async def test_what_cannot_be_run_is_said_before(shell: Shell, place: Place) -> None:
    command = Command(argv=("true",), cwd=place.workspace, environ={})
    for wrong in (
        replace(command, cwd=place.workspace / "gone"),
        replace(command, argv=("echo", "a\0b")),
        replace(command, argv=()),
        replace(command, environ={"A": "\0"}),
    ):
        with pytest.raises(SandboxError):
            shell.sandbox.wrap(wrong, restricted(place))
    for folder in ("/", "/etc"):
        with pytest.raises(SandboxError, match="would be none"):
            shell.sandbox.wrap(command, replace(restricted(place), workspace=Path(folder)))


async def test_further_folders_can_be_written_in_restricted_only(shell: Shell, place: Place) -> None:
    for mode, code in (("restricted", 0), ("strict", 1)):
        confinement = confinement_for(
            "restricted" if mode == "restricted" else "strict", place.workspace, place.temp, [place.outside]
        )
        outcome = await shell.run(f"echo more >> {place.outside}/file", confinement)
        assert outcome.end.exit_code == code, outcome.output.head


async def test_a_log_in_a_hidden_place_can_be_made_readable(shell: Shell, place: Place) -> None:
    logs = Path(os.environ["DESKTOP_AGENT_HOME"]) / "data" / "sessions" / "s" / "jobs"
    logs.mkdir(parents=True)
    (logs / "1.log").write_text("started")
    (logs.parent / "journal").write_text("SECRET")
    confinement = replace(restricted(place), readable=(logs,))
    outcome = await shell.run(f"cat {logs}/1.log; cat {logs.parent}/journal; echo x >> {logs}/1.log", confinement)
    assert "started" in outcome.output.head
    assert "SECRET" not in outcome.output.head
    assert (logs / "1.log").read_text() == "started"


async def test_a_workspace_in_a_hidden_place_is_open(shell: Shell, place: Place) -> None:
    """For example a project that the application made in its data folder."""
    inner = Path(os.environ["DESKTOP_AGENT_HOME"]) / "data" / "demo"
    (inner / "src").mkdir(parents=True)
    confinement = confinement_for("restricted", inner, place.temp, ())
    outcome = await shell.run("echo a > src/a && cat src/a", confinement)
    assert (outcome.end.exit_code, outcome.output.head) == (0, "a\n")
