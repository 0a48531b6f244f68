"""A run refuses a settings file with a mistake, and names file, line and key."""

import json
import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import load_settings
from tests.attacks.corpus import cases
from tests.attacks.settings.broken_files import BROKEN_FILES, NO_FILES, STRICT, Broken
from tests.command_line import PROGRAM, CommandLine

SHARE = pytest.mark.parametrize("broken", cases(BROKEN_FILES, lambda broken: broken.name))
MISSING = pytest.mark.parametrize("kind", cases(NO_FILES, str))


@pytest.fixture
def file(isolated_home: Path) -> Path:
    path = isolated_home / "desktop-agent" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def write(file: Path, content: str | bytes) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def runs(isolated_home: Path) -> list[Path]:
    return list((isolated_home / "desktop-agent" / "data").glob("sessions/*"))


def test_every_mistake_is_a_fault_with_its_place(file: Path) -> None:
    for broken in BROKEN_FILES:
        file.write_bytes(broken.content)
        faults = [str(fault) for fault in load_settings(file, {}).faults]
        found = [fault for fault in faults if fault.startswith(f"{file}{broken.place}:") and broken.says in fault]
        assert found, (broken.name, faults)


def test_what_is_no_file_is_a_fault_and_is_not_waited_for(tmp_path: Path) -> None:
    for kind, put in NO_FILES.items():
        file = tmp_path / f"{kind}.toml"
        put(file)
        assert [fault.path for fault in load_settings(file, {}).faults] == [file], kind


@SHARE
def test_a_run_is_refused_and_begins_nothing(
    file: Path, isolated_home: Path, tmp_path: Path, run: CommandLine, broken: Broken
) -> None:
    file.write_bytes(broken.content)
    ran = run("run", "--provider", "demo", "--prompt", "go", "--workspace", tmp_path)
    assert ran.code == 2, ran.err
    assert f"{file}{broken.place}:" in ran.err
    assert broken.says in ran.err
    assert runs(isolated_home) == []


@MISSING
def test_a_run_without_a_readable_file_is_refused(file: Path, isolated_home: Path, tmp_path: Path, kind: str) -> None:
    NO_FILES[kind](file)
    command = [*PROGRAM, "run", "--provider", "demo", "--prompt", "go", "--workspace", str(tmp_path)]
    ran = subprocess.run(  # noqa: TID251 - a process that waits for a pipe can be ended
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, runs(isolated_home)) == (2, []), ran.stderr
    assert str(file) in ran.stderr


def test_a_file_that_an_option_names_is_refused_as_well(isolated_home: Path, tmp_path: Path, run: CommandLine) -> None:
    file = tmp_path / "my.toml"
    file.write_bytes(BROKEN_FILES[0].content)
    ran = run("run", "--config", file, "--provider", "demo", "--prompt", "go", "--workspace", tmp_path, "--json")
    assert (ran.code, runs(isolated_home)) == (2, [])
    assert f"{file}:2: execution.sandbox: 'strct'" in ran.json["error"]["detail"]


def test_a_single_call_is_refused_as_well(file: Path, tmp_path: Path, run: CommandLine) -> None:
    file.write_bytes(BROKEN_FILES[0].content)
    made = tmp_path / "made"
    call = json.dumps({"command": f"touch {made}"})
    ran = run("tools", "call", "run_terminal_cmd", call, "--approval", "never", "--workspace", tmp_path)
    assert (ran.code, made.exists()) == (2, False)
    assert f"{file}:2: execution.sandbox" in ran.err


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        (
            '[execution]\nsandbox = "none"\n[ui]\ntheme = "pink"\n',
            ":4: ui.theme: 'pink' is not one of system, light, dark",
        ),
        ('[ui]\nthem = "dark"\n', ":2: ui.them: unknown setting; did you mean ui.theme?"),
        ("[looks]\nx = 1\n", ":1: looks: unknown section"),
    ],
)
def test_what_safety_does_not_depend_on_is_named_and_costs_only_itself(file: Path, text: str, warns: str) -> None:
    file.write_text(text)
    loaded = load_settings(file, {})
    assert loaded.faults == ()
    assert [problem for problem in map(str, loaded.problems) if problem.startswith(f"{file}{warns}")], loaded.problems


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ('[execution]\ntimeout_seconds = "30"\n', "timeout_seconds", 30.0),
        ('[execution]\ntimeout_seconds = " 2.5 "\n', "timeout_seconds", 2.5),
    ],
)
def test_a_quoted_number_is_read(file: Path, text: str, key: str, value: float) -> None:
    file.write_text(text)
    loaded = load_settings(file, {})
    assert (getattr(loaded.settings.execution, key), loaded.problems) == (value, ())


async def test_an_edit_that_breaks_the_file_loosens_nothing(file: Path) -> None:
    for broken in BROKEN_FILES:
        write(file, STRICT + b'approval = "always"\ntimeout_seconds = 9\n[tools.limits]\nmax_lines = 7\n')
        live = LiveSettings.load(file, {})
        write(file, broken.content)
        await live.refresh()
        held = live.current.execution
        assert (held.sandbox, held.approval) == ("strict", "always"), broken.name
        assert "rm" in held.blocked_commands, broken.name
        assert (held.timeout_seconds or 99) <= 9, broken.name
        assert live.current.tools.limits.max_lines <= 7, broken.name
        assert live.loaded.faults, broken.name
        assert live.faults == ()  # the last valid settings hold, so work goes on


async def test_what_a_broken_edit_makes_stricter_holds(file: Path) -> None:
    write(file, STRICT)
    live = LiveSettings.load(file, {})
    write(file, '[execution]\nsandbox = "strct"\napproval = "always"\nblocked_commands = ["dd"]\n')
    await live.refresh()
    held = live.current.execution
    assert (held.sandbox, held.approval, held.blocked_commands) == ("strict", "always", ("rm", "dd"))
    write(file, '[execution]\nsandbox = "none"\n')
    await live.refresh()
    assert (live.current.execution.sandbox, live.current.execution.blocked_commands) == ("none", ())


async def test_what_is_mended_holds_and_lifts_the_hold(file: Path) -> None:
    write(file, BROKEN_FILES[0].content)
    live = LiveSettings.load(file, {})
    assert live.faults
    write(file, STRICT)
    await live.refresh()
    assert (live.faults, live.current.execution.sandbox) == ((), "strict")


async def test_the_user_may_decide_to_go_on_with_what_can_be_read(file: Path) -> None:
    write(file, '[execution]\nsandbox = "strct"\nblocked_commands = ["rm"]\n')
    live = LiveSettings.load(file, {})
    told: list[int] = []
    live.subscribe(lambda: told.append(len(live.faults)))
    live.go_on()
    assert (live.faults, told) == ((), [0])
    assert (live.current.execution.sandbox, live.current.execution.blocked_commands) == ("restricted", ("rm",))
