"""Unreadable rules and project settings let nothing run that they may forbid."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.approvals import LiveRules, RulesFile
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.ops import Shutdown, SubmitPrompt
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.headless.runner import HeadlessRun, RunOptions
from tests.attacks.corpus import cases
from tests.attacks.settings.broken_files import NO_FILES
from tests.attacks.settings.test_broken_files import runs
from tests.command_line import CommandLine
from tests.harness import MODEL

FORBID = """\
[[rule]]
id = "r-1"
effect = "forbid"
kind = "command"
pattern = "git push"
scope = "always"

"""
ALLOW = FORBID.replace("forbid", "allow").replace("r-1", "r-2").replace("git push", "ls")


@dataclass(frozen=True, slots=True)
class BrokenRules:
    name: str
    text: str
    names: str


BROKEN_RULES = (
    BrokenRules("misspelt effect", ALLOW + FORBID.replace('"forbid"', '"forbidden"'), ":8: rule 2: effect must"),
    BrokenRules("not TOML", FORBID + "[[rule\n", ":8: is not valid TOML"),
    BrokenRules("unknown key", FORBID + 'where = "here"\n', ":1: rule 1: 'where' is not known"),
    BrokenRules("misspelt table", FORBID.replace("[[rule]]", "[[rules]]"), ":1: rules: unknown key"),
    BrokenRules("one rule only", FORBID.replace("[[rule]]", "[rule]"), ":1: rule: rules are written as [[rule]]"),
    BrokenRules("pattern is a number", FORBID.replace('"git push"', "3"), ":1: rule 1: pattern must be a text"),
    BrokenRules("same id twice", FORBID + FORBID.replace("git push", "rm"), ":8: rule 2: another rule has the id"),
    BrokenRules("no effect", FORBID.replace('effect = "forbid"\n', ""), ":1: rule 1: effect must be one of"),
)  # fmt: skip


@pytest.fixture
def rules(isolated_home: Path) -> Path:
    path = isolated_home / "desktop-agent" / "config" / "rules.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".desktop-agent").mkdir(parents=True)
    return folder


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


RUN = ("run", "--provider", "demo", "--prompt", "go", "--max-turns", "1", "--workspace")


@pytest.mark.parametrize("broken", cases(BROKEN_RULES, lambda broken: broken.name))
def test_a_run_with_broken_rules_is_refused(
    rules: Path, isolated_home: Path, tmp_path: Path, run: CommandLine, broken: BrokenRules
) -> None:
    rules.write_text(broken.text)
    ran = run(*RUN, tmp_path)
    assert (ran.code, runs(isolated_home)) == (2, []), ran.err
    assert f"{rules}{broken.names}" in ran.err


def test_every_broken_rules_file_is_a_fault_with_its_place(rules: Path) -> None:
    for broken in BROKEN_RULES:
        rules.write_text(broken.text)
        live = LiveRules(RulesFile(rules))
        live.look()
        assert [str(fault) for fault in live.faults if str(fault).startswith(f"{rules}{broken.names}")], broken.name


@pytest.mark.parametrize("put", [pytest.param(put, id=name) for name, put in NO_FILES.items() if name != "huge"])
def test_what_is_no_rules_file_is_a_fault_and_is_not_waited_for(rules: Path, put: Callable[[Path], None]) -> None:
    put(rules)
    live = LiveRules(RulesFile(rules))
    live.look()
    assert [fault.path for fault in live.faults] == [rules]


def test_a_broken_rule_that_would_allow_only_allows_nothing(rules: Path) -> None:
    rules.write_text(FORBID + ALLOW + 'where = "here"\n')
    live = LiveRules(RulesFile(rules))
    live.look()
    assert ([rule.id for rule in live.loaded.rules], live.faults) == (["r-1"], ())


def test_an_edit_that_breaks_the_rules_keeps_what_they_forbid(rules: Path) -> None:
    rules.write_text(FORBID + ALLOW)
    live = LiveRules(RulesFile(rules))
    live.look()
    for broken in BROKEN_RULES:
        rules.write_text(broken.text.replace("git push", "git pull"))
        live.look()
        assert "git push" in [rule.pattern for rule in live.loaded.rules if rule.effect == "forbid"], broken.name
        assert live.faults == ()
        assert live.loaded.problems
    rules.write_text(ALLOW)
    live.look()
    assert [rule.id for rule in live.loaded.rules] == ["r-2"]


# --- a project ----------------------------------------------------------------------------------------------------


def test_a_projects_file_with_a_mistake_is_not_trusted(project: Path, run: CommandLine) -> None:
    file = project / ".desktop-agent" / "config.toml"
    file.write_text('[execution]\nblocked_commands = ["rm"]\nsandbox = "strct"\n')
    ran = run("config", "trust", project)
    assert ran.code == 2
    assert f"{file}:3: execution.sandbox" in ran.err
    ran = run(*RUN, project)  # it is not trusted, so its mistakes do not matter here
    assert ran.code != 2, ran.err


def test_a_trusted_file_goes_on_holding_while_it_is_broken(project: Path, run: CommandLine) -> None:
    file = project / ".desktop-agent" / "config.toml"
    file.write_text('[execution]\nsandbox = "strict"\n')
    run.done("config", "trust", project)
    file.write_text('[execution]\nsandbox = "strct"\n')
    bench = Workbench.from_environment()
    settings = bench.settings_in(project)
    settings.look()
    assert (settings.current.execution.sandbox, settings.faults) == ("strict", ())


@pytest.mark.parametrize("damage", [b"", b"{", b'{"folder": "/elsewhere"}', b"\xff"])
def test_a_run_is_refused_when_what_was_answered_cannot_be_read(
    project: Path, isolated_home: Path, damage: bytes
) -> None:
    file = project / ".desktop-agent" / "config.toml"
    file.write_text('[execution]\nsandbox = "strict"\n')
    bench = Workbench.from_environment()
    settings = bench.settings_in(project)
    settings.look()
    settings.remember("trusted", file.read_text())
    [record] = (isolated_home / "desktop-agent" / "config" / "projects").iterdir()
    record.write_bytes(damage)
    settings.look()
    assert (settings.current.execution.sandbox, settings.faults) == ("strict", ())  # the last valid rules still hold
    anew = Workbench.from_environment().settings_in(project)
    anew.look()
    assert [fault.path for fault in anew.faults] == [record]


# --- the library --------------------------------------------------------------------------------------------------


async def test_the_library_starts_no_session_under_broken_settings(isolated_home: Path, tmp_path: Path) -> None:
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    write(file, '[execution]\nsandbox = "strct"\n')
    bench = Workbench.from_environment()
    with pytest.raises(UsageError) as refused:
        await bench.create_session(tmp_path, sink=lambda _: None)
    assert f"{file}:2: execution.sandbox" in refused.value.detail
    with pytest.raises(UsageError):
        await HeadlessRun(bench, RunOptions(prompts=("go",), workspace=tmp_path)).run()
    assert runs(isolated_home) == []


async def test_a_session_that_is_opened_under_broken_settings_gives_the_prompt_back(
    isolated_home: Path, tmp_path: Path
) -> None:
    bench = Workbench.from_environment()
    session = await bench.create_session(tmp_path, sink=lambda _: None, model=MODEL)
    session.submit(Shutdown())
    await session.run()
    file = isolated_home / "desktop-agent" / "config" / "rules.toml"
    write(file, BROKEN_RULES[0].text)
    bench = Workbench(AppPaths.from_environment(), LiveSettings())
    heard: list[ev.Event] = []
    opened = (await bench.open_session(session.id, sink=heard.append)).session
    opened.submit(SubmitPrompt(text="my words"))
    opened.submit(Shutdown())
    await opened.run()
    assert [event.text for event in heard if isinstance(event, ev.PromptRejected)] == ["my words"]
    assert not [event for event in heard if isinstance(event, ev.TurnStarted)]
    [notice] = [event for event in heard if isinstance(event, ev.Notice) and event.code == "settings"]
    assert f"{file}:8: rule 2" in notice.detail
    with pytest.raises(UsageError) as refused:
        await HeadlessRun(bench, RunOptions(prompts=("go",), workspace=tmp_path, resume=session.id)).run()
    assert str(file) in refused.value.detail


def test_a_resumed_run_is_refused_as_json_too(rules: Path, tmp_path: Path, run: CommandLine) -> None:
    session = run(*RUN, tmp_path, "--json").json["session_id"]
    rules.write_text(BROKEN_RULES[0].text)
    ran = run("run", "--resume", session, "--prompt", "on", "--json", "--workspace", tmp_path)
    assert ran.code == 2
    assert str(rules) in ran.json["error"]["detail"]
