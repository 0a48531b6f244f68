"""Pins and AGENTS.md in a session: what the model is sent of them, and what becomes of them with time."""

from datetime import UTC, datetime, timedelta

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Pin, TextBlock, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.settings.sections import CompactionSettings, Settings
from desktop_agent.core.store.journal.journal import encode_line
from tests.harness import Ground, ImpatientClock, Open, check_conversation


class WoundClock(ImpatientClock):
    """A clock whose time is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.at = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


async def pin(s: Open, text: str, ttl_s: float | None = None) -> str:
    return (await s.carry_out(ops.AddPin(text=text, ttl_s=ttl_s), ev.Pinned)).pin.id


async def test_a_pin_is_sent_with_every_request_until_it_is_removed(ground: Ground) -> None:
    async with ground.session([[Say("oui")], [Say("yes")]]) as s:
        identifier = await pin(s, "Answer in French")
        await s.prompt()
        assert "Answer in French" in s.last_request.pinned
        await s.carry_out(ops.RemovePin(pin_id=identifier), ev.Unpinned)
        await s.prompt()
        assert s.last_request.pinned == ""


async def test_a_pin_expires_before_the_request_after_its_time(ground: Ground) -> None:
    clock = ground.clock = WoundClock()
    async with ground.session([[Say("one")], [Say("two")]]) as s:
        identifier = await pin(s, "until ten", ttl_s=60)
        clock.at += timedelta(seconds=59)
        await s.prompt()
        assert "until ten" in s.last_request.pinned
        clock.at += timedelta(seconds=1)
        await s.prompt()
        [gone] = s.rx.all(ev.Unpinned)
        assert (gone.pin_id, gone.is_expired) == (identifier, True)
        assert s.last_request.pinned == ""


async def test_a_pin_whose_end_does_not_say_where_on_earth_ends_all_the_same(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
    journal = ground.paths.sessions / s.id / "journal.jsonl"
    number = journal.read_bytes().count(b"\n") + 1
    pinned = ev.Pinned(pin=Pin(id="p", text="until noon", expires_at=datetime(2020, 1, 1, 12, 0)))  # noqa: DTZ001
    journal.write_bytes(journal.read_bytes() + encode_line(encode_event(pinned.stamped(number, datetime.now(UTC)))))
    async with ground.session([[Say("two")]], resume=s.id) as s:
        assert (await s.prompt()).reason == "completed"
        assert s.last_request.pinned == ""


async def test_a_pin_over_the_budget_is_refused_with_the_reason(ground: Ground) -> None:
    ground.settings = Settings(compaction=CompactionSettings(pins_tokens=100))
    async with ground.session([]) as s:
        await pin(s, "short")
        notice = await s.carry_out(ops.AddPin(text="long " * 200), ev.Notice)
        assert notice.code == "pin"
        assert "100" in notice.title


async def test_what_cannot_be_pinned_or_removed_says_why(ground: Ground) -> None:
    async with ground.session([]) as s:
        for op in (ops.AddPin(text="  "), ops.AddPin(text="x", ttl_s=0), ops.RemovePin(pin_id="nope")):
            s.submit(op)
            assert (await s.rx.expect(ev.Notice)).code == "pin"


async def test_a_pin_whose_time_is_over_is_no_longer_listed_also_after_a_restart(ground: Ground) -> None:
    ground.clock = clock = WoundClock()
    async with ground.session([]) as s:
        await pin(s, "for a minute", ttl_s=60)
        await pin(s, "for an hour", ttl_s=3_600)
        clock.at += timedelta(seconds=61)
        listed = (await s.carry_out(ops.RunCommand(text="/pin list"), ev.CommandRun)).output
        assert "for an hour" in listed
        assert "for a minute" not in listed
        clock.at += timedelta(hours=1)
    async with ground.session([], resume=s.id) as s:
        s.submit(ops.RunCommand(text="/status"))
        assert "Active pins: none" in (await s.rx.expect(ev.CommandRun)).output


async def test_a_call_on_what_can_be_no_path_does_not_end_the_turn(ground: Ground) -> None:
    calls: list[Reply] = [[Call("read_file", {"path": path})] for path in ("a\0b/c", "a\ud800b/c")]
    async with ground.session([*calls, [Say("I see")], [Say("again")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.Notice) == []


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


async def test_what_the_model_sees_can_be_looked_at_part_by_part(ground: Ground) -> None:
    ground.write("AGENTS.md", "Use tabs.")
    async with ground.session([[Say("one")]]) as s:
        await pin(s, "in French")
        await s.prompt("Hello there")
        report = (await s.carry_out(ops.InspectContext(), ev.ContextInspected)).report
        kinds = [section.kind for section in report.sections]
        assert kinds == ["tools", "system", "guidance", "conversation", "pins"]
        assert "Hello there" in report.sections[3].text
        assert report.use.window == 200_000
        assert report.target == 180_000
        assert sum(section.tokens for section in report.sections) == pytest.approx(report.use.tokens, rel=0.02)


async def test_the_meter_tells_what_was_reported_also_after_a_restart(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        await s.prompt()
        measured = s.rx.all(ev.ContextMeasured)
        assert [event.use.source for event in measured] == ["estimated", "reported"]
        identifier = s.id
    async with ground.session([], resume=identifier) as s:
        again = await s.rx.expect(ev.ContextMeasured)
        assert again.use == measured[-1].use
