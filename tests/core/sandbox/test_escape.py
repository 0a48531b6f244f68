"""Shell commands try to get out of each sandbox. Nothing outside may change or be read.

`tests/attacks/sandbox` does the same by system calls: sockets, other processes, devices, namespaces, modes.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.sandbox.confinement import confinement_for
from desktop_agent.core.sandbox.find import Sandbox
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktrees
from tests.core.sandbox.conftest import Place, Shell
from tests.sandboxes import sandbox_named

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")

Run = Callable[..., Awaitable[ProcessOutcome]]


@pytest.fixture(params=["restricted", "strict"])
def confined(request: pytest.FixtureRequest, shell: Shell) -> Run:
    return shell.restricted if request.param == "restricted" else shell.strict


# S-14, S-17, Z-93, Z-94, Z-95: a word list would have missed each of these.
ESCAPES = {
    "write_outside": 'echo evil > "$OUTSIDE/new"',
    "overwrite_outside": 'echo evil > "$OUTSIDE/file"',
    "delete_outside": 'rm -f "$OUTSIDE/file"',
    "write_in_home": 'echo evil >> "$HOME/.bashrc"',
    "authorize_a_key": 'echo key >> "$HOME/.ssh/authorized_keys"',
    "git_config": "git config core.fsmonitor evil",
    "git_config_directly": "echo evil >> .git/config",
    "git_hook": "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
    "git_hook_by_rename": "echo evil > src/hook && mv src/hook .git/hooks/pre-commit",
    "git_removed": "rm -rf .git",
    "git_moved": "mv .git src/git",
    "own_rules": "mkdir .desktop-agent && echo x > .desktop-agent/config.toml",
    "symlink": 'ln -sfn "$OUTSIDE" src/link; echo evil > src/link/file',
    "symlink_to_git": "ln -sfn ../.git src/link; echo evil > src/link/config",
    "hard_link_git": "ln .git/config src/x && echo evil > src/x",
    "proc_self_root": 'echo evil > "/proc/self/root$OUTSIDE/file"',
    "proc_1_root": 'echo evil > "/proc/1/root$OUTSIDE/file"',
    "proc_parent_root": 'echo evil > "/proc/$PPID/root$OUTSIDE/file"',
}


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES.keys())
@pytest.mark.sampled(2, "sandbox", "confined", "script")
async def test_nothing_outside_changes(confined: Run, place: Place, script: str) -> None:
    before = place.snapshot()
    await confined(script, OUTSIDE=str(place.outside))
    assert place.snapshot() == before
    assert not (place.workspace / ".desktop-agent").exists()


def content_of(file: Path) -> str:
    return file.read_text()


@pytest.fixture
def settings_inside(monkeypatch: pytest.MonkeyPatch, place: Place) -> Path:
    file = place.workspace / "ci" / "agent.toml"
    file.parent.mkdir()
    file.write_text('[execution]\nblocked_commands = ["git push"]\n')
    monkeypatch.setenv("DESKTOP_AGENT_CONFIG", str(file))
    return file


LOOSENED = {
    "written": "echo > ci/agent.toml",
    "removed": "rm -f ci/agent.toml",
    "replaced": "echo > src/x && mv -f src/x ci/agent.toml",
    "moved_with_its_folder": "mv ci src/ci && mkdir ci && echo > ci/agent.toml",
    "linked": "ln -f ci/agent.toml src/x && echo > src/x",
}


@pytest.mark.parametrize("script", LOOSENED.values(), ids=LOOSENED.keys())
async def test_the_settings_file_stays_as_it_is_wherever_it_lies(
    settings_inside: Path, shell: Shell, script: str
) -> None:
    await shell.restricted(script)
    assert "git push" in content_of(settings_inside)


REFUSED = {
    "remount_proc": "mount -o remount,rw /proc",
    "remount": "mount -o remount,rw,bind /",
    "secret_file": 'grep . "$HOME/.netrc"',
    "secret_through_root": 'cat "/proc/self/root$HOME/.ssh/id_test"',
    "our_sessions": 'cat "$DESKTOP_AGENT_HOME/data/sessions/s/journal.jsonl"',
    "raw_disks": "cat $(find /dev -type b) </dev/null | head -c 1 | grep -q .",
    "write_to_system": "touch /usr/bin/evil",
    "write_to_etc": "touch /etc/evil",
}


@pytest.mark.parametrize("script", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.sampled(2, "sandbox", "confined", "script")
async def test_it_is_refused(confined: Run, script: str) -> None:
    journal = Path(os.environ["DESKTOP_AGENT_HOME"]) / "data/sessions/s/journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("SECRET-JOURNAL")
    outcome = await confined(f"{script}; code=$?; echo; exit $code")
    assert outcome.end.exit_code != 0, outcome.output.head
    assert "SECRET" not in outcome.output.head


LIVE = 'sh -c "echo > $TMPDIR/up; exec sleep $TIME"'
DAEMONS = {
    "in_background": f"{LIVE} &",
    "setsid": f"setsid nohup {LIVE} >/dev/null 2>&1 &",
    "without_environment": f"env -i setsid setsid -f {LIVE} >/dev/null 2>&1 </dev/null &",
    "two_forks_away": f"(setsid env -i {LIVE} >/dev/null 2>&1 </dev/null &) &",
}


@pytest.mark.parametrize("script", DAEMONS.values(), ids=DAEMONS.keys())
@pytest.mark.sampled(2, "sandbox", "confined", "script")
async def test_nothing_outlives_the_command(confined: Run, script: str) -> None:
    time = f"98{os.getpid()}"
    outcome = await confined(f"mkfifo $TMPDIR/up; {script}\nread < $TMPDIR/up; echo over", TIME=time)
    assert "over" in outcome.output.head
    assert still_there(time) == []


async def test_ending_a_command_ends_all_of_it(shell: Shell, place: Place) -> None:
    """Z-47: also processes that ignore signals or hide their origin."""
    time = f"97{os.getpid()}"
    ready = place.workspace / "src" / "ready"
    os.mkfifo(ready)
    daemon = f"env -i setsid setsid -f sleep {time} </dev/null >/dev/null 2>&1"
    script = f"trap '' TERM; {daemon}; echo > src/ready; sleep {time}"
    command = Command(argv=("/bin/bash", "-c", script), cwd=place.workspace, environ=dict(os.environ))
    confinement = confinement_for("restricted", place.workspace, place.temp, ())
    child = await shell.runner.read(shell.sandbox.wrap(command, confinement), lambda _: None)
    with ready.open("rb", buffering=0) as pipe:
        pipe.read(1)
    assert sleepers(time) != []
    await child.end()
    assert still_there(time) == []


async def test_a_variable_cannot_load_code_outside_the_walls(shell: Shell, place: Place) -> None:
    """The sandbox's own program starts outside: `LD_PRELOAD` and shell functions must not reach it."""
    loud = f"LD_DEBUG writes a file wherever it is told: {place.outside}"
    outcome = await shell.restricted(
        "echo $LD_DEBUG",
        **{
            "LD_DEBUG": "libs",
            "LD_DEBUG_OUTPUT": str(place.outside / "loaded"),
            "BASH_ENV": str(place.workspace / "env"),
            "BASH_FUNC_exit%%": f"() {{ echo evil > {place.outside}/file; }}",
            "PYTHONSTARTUP": loud,
        },
    )
    assert "libs" in outcome.output.head
    assert [path.name for path in place.outside.iterdir()] == ["file"]
    assert (place.outside / "file").read_text() == "theirs"


async def test_a_missing_git_folder_cannot_be_made_and_none_is_left(shell: Shell, place: Place) -> None:
    bare = place.home / "bare"
    (bare / "sub").mkdir(parents=True)
    confinement = confinement_for("restricted", bare, place.temp, ())
    outcome = await shell.run("git init -q . ; mkdir .git; echo x > .git/config; rmdir .git; exit 7", confinement)
    assert outcome.end.exit_code == 7
    assert sorted(path.name for path in bare.iterdir()) == ["sub"]


async def test_a_worktrees_repository_is_protected(shell: Shell, place: Place) -> None:
    """`.git` is a file there that points elsewhere."""
    tree = place.workspace / "src" / "tree"
    git = Command(
        argv=("git", "-C", str(place.workspace), "worktree", "add", "-q", str(tree)),
        cwd=place.workspace,
        environ=dict(os.environ),
    )
    assert (await shell.runner.run(git)).end.exit_code == 0
    before, link = place.snapshot(), (tree / ".git").read_text()
    for workspace in (tree, place.workspace):
        confinement = confinement_for("restricted", workspace, place.temp, ())
        script = f"cd {tree}; echo 'gitdir: /evil' > .git; rm -f .git; mv .git x; git config core.hooksPath evil"
        await shell.run(script, confinement)
        assert (tree / ".git").read_text() == link
        assert place.snapshot() == before


async def test_a_sessions_worktree_is_open_and_its_repository_and_the_rest_of_the_data_are_not(
    shell: Shell, place: Place
) -> None:
    data = AppPaths.from_environment().data
    (data / "worktrees/other").mkdir(parents=True)
    (data / "worktrees/other/secret.txt").write_text("SECRET")
    worktrees = Worktrees(data / "worktrees", data / "sessions", SystemClock())
    made, _ = await worktrees.make(place.workspace, NewWorktree(name="one"))
    before = place.snapshot()
    confinement = confinement_for("restricted", made.workspace, place.temp, ())
    script = f"""
        git status --porcelain && git log --format=%s && echo mine > src/own.txt && cat src/own.txt
        echo evil > {place.workspace}/evil.txt; echo evil >> {place.workspace}/src/a.txt
        echo evil > {made.git_dir}/config.worktree; echo evil > .git; git config core.fsmonitor evil
        cat {data}/worktrees/other/secret.txt {data}/worktrees/one.json; ls {data}
        echo evil > {data}/worktrees/one.json; mv {made.path} {data}/worktrees/x"""
    outcome = await shell.run(script, confinement)
    assert outcome.output.head.startswith("first\nmine\n")
    assert "SECRET" not in outcome.output.head
    assert "desktop-agent/one" not in outcome.output.head
    assert (Path(made.path) / "src/own.txt").read_text() == "mine\n"
    assert place.snapshot() == before
    assert (place.workspace / "src/a.txt").read_text() == "a\n"
    assert not (place.workspace / "evil.txt").exists()
    assert (await worktrees.find("one")).state == "made"


async def test_a_git_link_is_not_run_unprotected(shell: Shell, place: Place) -> None:
    linked = place.home / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(place.workspace / ".git")
    confinement = confinement_for("restricted", linked, place.temp, ())
    with pytest.raises(SandboxError, match="symbolic link"):
        await shell.run("true", confinement)


@pytest.mark.parametrize("has_config", [True, False])
@pytest.mark.parametrize(
    "script",
    [
        "echo forged > {config}/rules.toml",
        "mkdir -p {config}; echo forged > {config}/rules.toml",
        "mv .config .moved; mkdir -p {config}; echo forged > {config}/rules.toml",
        "rm -rf .config; ln -s $PWD/app .config; mkdir -p {config}; echo forged > {config}/rules.toml",
    ],
)
@pytest.mark.sampled(2, "sandbox", "script", "has_config")
async def test_our_own_rules_cannot_be_forged_by_a_command_in_the_home_folder(
    sandbox: Sandbox, place: Place, runner: ProcessRunner, script: str, *, has_config: bool
) -> None:
    config = place.home / ".config" / "agent" / "config"
    if has_config:
        config.mkdir(parents=True)
        (config / "rules.toml").write_text("mine")
    environ = {**os.environ, "DESKTOP_AGENT_HOME": str(config.parent)}
    guarded = sandbox_named(sandbox.name, environ)
    confinement = confinement_for("restricted", place.home, place.temp, ())
    argv = ("/bin/bash", "-c", script.format(config=".config/agent/config"))
    await runner.run(guarded.wrap(Command(argv=argv, cwd=place.home, environ=environ), confinement), timeout_s=30)
    rules = [path.read_text() for path in place.home.rglob("rules.toml")]
    assert rules == (["mine"] if has_config else [])
    assert config.parent.exists() == has_config, "and nothing is left of what kept it from being made"


async def test_a_repository_in_a_folder_cannot_be_exchanged_by_moving_the_folder_away(
    shell: Shell, place: Place
) -> None:
    nested = place.workspace / "libs" / "one"
    (nested / ".git").mkdir(parents=True)
    (nested / ".git" / "config").write_text("mine")
    for moved in ("libs", "libs/one"):
        script = f"mv {moved} moved; mkdir -p libs/one/.git; echo forged > libs/one/.git/config"
        await shell.restricted(script)
        assert (nested / ".git" / "config").read_text() == "mine"
    if shell.sandbox.name == "bubblewrap":  # Landlock lets nothing be made beside what it protects
        outcome = await shell.restricted("cd libs/one && echo x > made && mv made ../here && cat ../here")
        assert outcome.output.head == "x\n", "within it a command works as before"


async def test_a_moved_folder_does_not_show_its_secrets_to_the_next_command(
    sandbox: Sandbox, place: Place, runner: ProcessRunner
) -> None:
    secret = place.home / ".config" / "gcloud" / "key"
    secret.parent.mkdir()
    secret.write_text("SECRET-KEY")
    shell = Shell(runner, sandbox, replace(place, workspace=place.home))
    await shell.restricted("mv .config .moved")
    outcome = await shell.restricted("cat .config/gcloud/key .moved/gcloud/key")
    assert "SECRET" not in outcome.output.head


def sleepers(time: str) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-1:] == [time] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def still_there(time: str) -> list[psutil.Process]:
    """Return the survivors. The kernel needs a moment to kill a namespace."""
    _, alive = psutil.wait_procs(sleepers(time), timeout=30)
    return alive
