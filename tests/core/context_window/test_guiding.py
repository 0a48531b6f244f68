"""Instructions in a session: what is sent and when, what is told, and what the user switches off."""

import asyncio
import shutil
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ContextSection, TextBlock, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.harness import Ground, Open, check_conversation


def notices(s: Open) -> list[ev.Notice]:
    return [event for event in s.rx.all(ev.Notice) if event.code == "guidance"]


async def guides(s: Open) -> dict[str, ContextSection]:
    report = (await s.carry_out(ops.InspectContext(), ev.ContextInspected)).report
    return {section.name: section for section in report.sections if section.kind == "guidance"}


async def test_guidance_is_in_the_first_request_and_what_changed_is_in_the_next(ground: Ground) -> None:
    ground.paths.config.mkdir(parents=True)
    (ground.paths.config / "AGENTS.md").write_text("Be brief.")
    path = ground.write("AGENTS.md", "Use tabs.\n")
    async with ground.session([[Say("one")], [Say("two")], [Say("three")]]) as s:
        await s.prompt()
        assert "Be brief." in s.last_request.system
        assert "Use tabs." in s.last_request.system
        await s.prompt()
        assert len(s.rx.all(ev.GuidanceLoaded)) == 1, "nothing changed, so nothing is recorded"
        path.write_text("Use spaces instead.\n")
        await s.prompt()
        assert "Use spaces instead." in s.last_request.system
        assert [file.scope for file in s.session.transcript.context.guidance] == ["person", "workspace"]


async def test_guidance_of_a_folder_comes_when_the_agent_first_goes_there(ground: Ground) -> None:
    ground.write("src/AGENTS.md", "Modules have docstrings.")
    ground.write("src/deep/AGENTS.md", "Nothing is public here.")
    ground.write("src/deep/a.py", "x = 1\n")
    replies: list[Reply] = [[Call("read_file", {"path": "src/deep/a.py"})], [Say("read")], [Say("again")]]
    async with ground.session(replies) as s:
        await s.prompt()
        check_conversation(s.last_request)
        message = s.last_request.messages[-1]
        assert isinstance(message, UserMessage)
        notes = [block.text for block in message.content if isinstance(block, TextBlock)]
        assert "Modules have docstrings." in notes[0]
        assert "Nothing is public here." in notes[1]
        await s.prompt()
        assert len(s.rx.all(ev.GuidanceLoaded)) == 1


async def test_a_new_file_by_the_agent_brings_the_guidance_of_its_folder(ground: Ground) -> None:
    ground.write("docs/AGENTS.md", "British spelling.")
    create = Call("create_file", {"path": "docs/new.md", "content": "x\n"})
    async with ground.session([[create], [Say("made")]], approval="never", sandbox="none") as s:
        ended = await s.carry_out(ops.SubmitPrompt(text="go"), (ev.TurnEnded, ev.ApprovalRequested))
        if isinstance(ended, ev.ApprovalRequested):
            return  # without a sandbox every write asks; the folder was not touched
        assert s.rx.all(ev.GuidanceLoaded)


async def test_a_link_out_of_the_workspace_is_not_guidance(ground: Ground) -> None:
    secret = ground.paths.data.parent / "secret.txt"
    secret.write_text("the secret")
    (ground.workspace / "AGENTS.md").symlink_to(secret)
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        assert "the secret" not in s.last_request.system
        [notice] = [event for event in s.rx.all(ev.Notice) if event.code == "guidance"]
        assert "leads out of the workspace" in notice.title


async def test_that_others_instructions_are_used_is_said_once_a_session_also_after_a_restart(ground: Ground) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt()
        assert notices(s) == [], "AGENTS.md is for all"
        for name in ("CLAUDE.md", "GEMINI.md"):
            ground.write(name, f"Written for {name}.")
        await s.prompt()
        [said] = notices(s)
        assert "GEMINI.md, CLAUDE.md" in said.title
        assert "Written for CLAUDE.md." in s.last_request.system
    ground.write("CLAUDE.local.md", "One more.")
    async with ground.session([[Say("three")]], resume=s.session.id) as s:
        await s.prompt()
        assert "One more." in s.last_request.system
        assert notices(s) == []


async def test_a_rule_for_some_files_comes_with_the_first_of_them_and_outlives_a_restart(ground: Ground) -> None:
    ground.write(".claude/rules/typing.md", "---\npaths: 'src/**/*.py'\n---\nNo any.")
    ground.write("src/a.py", "x = 1\n")
    replies: list[Reply] = [[Call("read_file", {"path": "src/a.py"})], [Say("read")], [Say("again")]]
    async with ground.session(replies) as s:
        await s.prompt()
        check_conversation(s.last_request)
        message = s.last_request.messages[-1]
        assert isinstance(message, UserMessage)
        [note] = [block.text for block in message.content if isinstance(block, TextBlock)]
        assert note.startswith("[Guidance for src/**/*.py, from .claude/rules/typing.md. It applies to these files:]")
    async with ground.session([[Say("again")]], resume=s.session.id) as s:
        await s.prompt()
        assert "No any." in str(s.last_request.messages)
        assert s.rx.all(ev.GuidanceLoaded) == []


async def test_what_there_is_can_be_looked_at_before_the_first_prompt(ground: Ground) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([]) as s:
        assert (await guides(s))["AGENTS.md"].tokens > 0


@pytest.fixture
def live(ground: Ground) -> LiveSettings:
    ground.paths.config.mkdir(parents=True)
    ground.live = LiveSettings.load(ground.paths.settings_file({}), {})
    return ground.live


async def test_what_is_switched_off_is_not_sent_in_this_and_other_sessions_until_it_is_on(
    ground: Ground, live: LiveSettings
) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    ground.write("CLAUDE.md", "Be brief.")
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt()
        s.submit(ops.SwitchGuidance(path="CLAUDE.md", is_on=False))
        seen = await guides(s)
        assert [(name, part.is_off) for name, part in seen.items()] == [("CLAUDE.md", True), ("AGENTS.md", False)]
        assert seen["CLAUDE.md"].tokens > 0
        (entry,) = live.current.context.instructions_off
        assert entry.startswith(f"{ground.workspace / 'CLAUDE.md'}#")
        await s.prompt()
        assert "Be brief." not in s.last_request.system
        assert [file.path for file in s.session.transcript.context.guidance] == ["AGENTS.md"]
    ground.live = LiveSettings.load(ground.paths.settings_file({}), {})
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt()
        assert "Be brief." not in s.last_request.system
        assert (await guides(s))["CLAUDE.md"].is_off
        s.submit(ops.SwitchGuidance(path="CLAUDE.md", is_on=True))
        assert not (await guides(s))["CLAUDE.md"].is_off
        await s.prompt()
        assert "Be brief." in s.last_request.system
    assert ground.live.current.context.instructions_off == ()


async def test_a_switch_holds_where_the_folder_is_moved_and_can_be_taken_back_there(
    ground: Ground, live: LiveSettings
) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    ground.write("src/AGENTS.md", "Use spaces.")
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        s.submit(ops.SwitchGuidance(path="AGENTS.md", is_on=False))
        await guides(s)
    ground.workspace = ground.workspace.rename(ground.workspace.with_name("moved"))
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        assert "Use tabs." not in s.last_request.system
    ground.write("AGENTS.md", "Use tabs and spaces.")
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        await s.prompt()
        assert "Use tabs" not in s.last_request.system
        assert (await guides(s))["AGENTS.md"].is_off
        s.submit(ops.SwitchGuidance(path="AGENTS.md", is_on=True))
        assert not (await guides(s))["AGENTS.md"].is_off
        await s.prompt()
        assert "Use tabs and spaces." in s.last_request.system
    assert not live.current.context.instructions_off


async def test_a_switch_does_not_hold_for_a_copy_nor_for_another_text(ground: Ground, live: LiveSettings) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        s.submit(ops.SwitchGuidance(path="AGENTS.md", is_on=False))
        await guides(s)
    first = ground.workspace
    ground.workspace = Path(shutil.copytree(first, first.with_name("copy")))
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        assert "Use tabs." in s.last_request.system
    shutil.rmtree(first)
    ground.write("AGENTS.md", "Use spaces.")
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        assert "Use spaces." in s.last_request.system
    assert live.current.context.instructions_off


async def test_the_instructions_of_a_folder_are_switched_off_while_the_agent_works(
    ground: Ground, live: LiveSettings
) -> None:
    ground.write("src/AGENTS.md", "Use tabs.")
    ground.write("src/a.py", "x = 1\n")
    ground.write("b.py", "y = 1\n")
    steps: list[Reply] = [
        [Call("read_file", {"path": "src/a.py"})],
        [Call("read_file", {"path": "b.py"})],
        [Say("done")],
    ]
    async with ground.session(steps, approval="always") as s:
        await s.begin()
        asked = await s.rx.expect(ev.ApprovalRequested)
        s.submit(ops.SwitchGuidance(path="src/AGENTS.md", is_on=False))
        assert (await guides(s))["src/AGENTS.md"].is_off
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        await s.rx.expect(ev.TurnEnded)
        assert "src/AGENTS.md no longer applies" in str(s.last_request.messages)
        (entry,) = live.current.context.instructions_off
        assert entry.startswith(f"{ground.workspace / 'src/AGENTS.md'}#")


async def test_a_glob_of_the_settings_wins_over_the_switch_and_says_so(ground: Ground, live: LiveSettings) -> None:
    await live.change("context.instructions_off", ["GEMINI.md", ".cursor/**"])
    ground.write("GEMINI.md", "Be brief.")
    ground.write(".cursor/rules/a.mdc", "---\nalwaysApply: true\n---\nNo any.")
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        assert "Be brief." not in s.last_request.system
        assert "No any." not in s.last_request.system
        s.submit(ops.SwitchGuidance(path="GEMINI.md", is_on=True))
        assert (await guides(s))["GEMINI.md"].is_off
        [said] = notices(s)
        assert "a glob in context.instructions_off covers it" in said.title


async def test_settings_that_cannot_be_written_are_a_notice_and_change_nothing(
    ground: Ground, live: LiveSettings
) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        ground.write("../config/config.toml", "no toml [")
        s.submit(ops.SwitchGuidance(path="AGENTS.md", is_on=False))
        assert not (await guides(s))["AGENTS.md"].is_off
        assert s.rx.all(ev.Notice)
        assert ground.read("../config/config.toml") == "no toml ["
        assert live.current.context.instructions_off == ()


async def test_an_import_from_outside_comes_once_the_project_is_trusted_and_goes_when_it_is_ignored(
    ground: Ground, live: LiveSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert live.current
    home = ground.workspace.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    ground.write("../home/notes.md", "my private notes")
    ground.write("CLAUDE.md", "Be brief. @~/notes.md")
    async with ground.session([[Say(str(number))] for number in range(3)]) as s:
        settings = s.bench.settings_in(ground.workspace)
        await s.prompt()
        assert "my private notes" not in s.last_request.system
        assert any("waits until you trust the project" in said.title for said in notices(s))
        assert settings.is_waiting
        assert settings.proposal is not None
        await asyncio.to_thread(settings.remember, "trusted", "", settings.proposal.items)
        await s.prompt()
        assert "my private notes" in s.last_request.system
        assert not settings.is_waiting
        await asyncio.to_thread(settings.remember, "ignored", "", settings.proposal.items)
        await s.prompt()
        assert "my private notes" not in s.last_request.system
