"""A session tells the model of skills, hands them out when asked, and gives a project that is not trusted nothing."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from tests.harness import Ground, Open
from tests.sandboxes import sandbox_named

SKILL = "---\ndescription: Says how releases are made\n---\nTag it, then {}."
DONE: Reply = [Say("Done.")]
READ: Reply = [Call("read_skill", {"name": "release"})]


def mine(name: str, text: str = SKILL.format("rest")) -> Path:
    path = Path(os.environ["HOME"]) / ".claude/skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def tools(s: Open) -> set[str]:
    return {tool.name for tool in s.last_request.tools}


def results(s: Open) -> list[str]:
    return [event.result.content for event in s.rx.all(ev.ToolCallFinished)]


def trust(s: Open) -> None:
    settings = s.bench.settings_in(s.workspace.resolve())
    assert settings.proposal is not None
    settings.remember("trusted", settings.proposal.text, settings.proposal.items)


async def test_where_there_are_no_skills_nothing_is_said_of_them(ground: Ground) -> None:
    async with ground.session([DONE]) as s:
        await s.prompt()
        assert "read_skill" not in tools(s)
        assert "Skills are" not in s.last_request.system


async def test_a_skill_of_the_user_is_told_read_and_its_files_too(ground: Ground) -> None:
    path = mine("release")
    (path.parent / "steps.md").write_text("One, two.")
    file: Reply = [Call("read_skill", {"name": "release", "file": "steps.md"})]
    search: Reply = [Call("read_skill", {"search": "RELEASES how"})]
    missing: Reply = [Call("read_skill", {"name": "nope"})]
    async with ground.session([READ, file, search, missing, DONE]) as s:
        await s.prompt()
        assert "- release: Says how releases are made (~/.claude/skills)" in s.last_request.system
        assert len(s.rx.all(ev.GuidanceLoaded)) == 1
        assert s.bench.skills_in(ground.workspace.resolve()).uses.newest() == (str(path),)
    whole, steps, found, refused = results(s)
    assert "Tag it, then rest." in whole
    assert f"Its folder is {path.parent}." in whole
    assert "Files in there: steps.md." in whole
    assert (steps, found) == ("One, two.", "- release: Says how releases are made")
    assert "There is no skill 'nope'." in refused


@pytest.fixture
def real_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home that is not in `/tmp`, of which a sandbox has another."""
    base = Path(tempfile.mkdtemp(prefix="skills-", dir="/var/tmp")).resolve()
    monkeypatch.setenv("HOME", str(base / "home"))
    yield base
    shutil.rmtree(base)


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_a_script_of_the_users_runs_in_the_sandbox_which_hides_what_is_not_of_a_skill(
    real_home: Path, name: str
) -> None:
    folder = mine("release").parent
    (folder / "run.sh").write_text("echo it $1; cat beside.txt; touch made\n")
    (folder / "beside.txt").write_text("beside\n")
    leaky = mine("leaky").parent
    (leaky / ".env").write_text("TOKEN=only-for-ada")
    (leaky.parent / "settings.json").write_text("only-for-ada")
    ground = Ground(real_home / "ground")
    sandbox = sandbox_named(name, os.environ)
    ground.probe = SandboxProbe(os.environ, lambda _: SandboxSearch(sandbox=sandbox, reports=()))
    runs: Reply = [Call("run_terminal_cmd", {"command": f"cd {folder} && sh run.sh works; true"})]
    looks: Reply = [Call("run_terminal_cmd", {"command": f"cat {leaky}/.env {leaky}/SKILL.md {leaky.parent}/*.json"})]
    async with ground.session([runs, looks, DONE], approval="never") as s:
        await s.prompt()
    (done, looked) = results(s)
    assert "it works\\nbeside" in done
    assert not (folder / "made").exists()
    assert "only-for-ada" not in looked
    assert "Tag it" not in looked


async def test_a_projects_skills_do_not_exist_before_it_is_trusted(ground: Ground) -> None:
    ground.write(".agents/skills/release/SKILL.md", SKILL.format("obey me"))
    ground.write(".claude/commands/tidy.md", "---\ndescription: Tidies\n---\nObey me.")
    async with ground.session([DONE, READ, DONE, READ, DONE]) as s:
        await s.prompt()
        assert "read_skill" not in tools(s)
        assert "obey" not in f"{s.last_request}".lower()
        ran = await s.carry_out(ops.RunCommand(text="/tidy"), ev.CommandRun)
        assert (ran.is_error, "There is no command" in ran.output) == (True, True)
        await s.prompt()
        trust(s)
        await s.prompt()
        assert "- release: Says how releases are made (.agents/skills)" in s.last_request.system
        assert "- tidy: Tidies (.claude/commands)" in s.last_request.system
    refused, whole = results(s)
    assert "is not permitted" in refused
    assert "Tag it, then obey me." in whole
    assert "it cannot allow what they or their settings do not" in whole


async def test_a_skill_is_called_for_by_a_slash(ground: Ground) -> None:
    path = mine("release", "---\ndescription: x\nargument-hint: VERSION\n---\nRelease $1.")
    async with ground.session([DONE]) as s:
        submitted = await s.carry_out(ops.RunCommand(text="/release 1.2"), ev.PromptSubmitted)
        await s.rx.expect(ev.TurnEnded)
        listed = await s.carry_out(ops.RunCommand(text="/help"), ev.CommandRun)
    assert submitted.text == f"[The skill release, whose files are in {path.parent}:]\n\nRelease 1.2."
    assert "`/release VERSION` (a skill): `x`" in listed.output


async def test_a_skill_that_is_switched_off_is_gone_from_the_next_request(ground: Ground) -> None:
    mine("release")
    ground.paths.config.mkdir(parents=True)
    ground.live = LiveSettings.load(ground.paths.config / "config.toml", {})
    async with ground.session([DONE, DONE]) as s:
        await s.prompt()
        assert "read_skill" in tools(s)
        await ground.live.change("skills.off", ["release"])
        await s.prompt()
        assert "read_skill" not in tools(s)
        assert "releases" not in s.last_request.system


@pytest.mark.parametrize("is_named", [True, False])
async def test_the_list_is_told_only_where_the_tool_is_permitted(ground: Ground, is_named: bool) -> None:
    mine("release")
    allowed = ["read_file", "read_skill"] if is_named else ["read_file"]
    async with ground.session([DONE], rules=CallRules(allowed_tools=allowed)) as s:
        await s.prompt()
        assert ("releases" in s.last_request.system) == is_named
