"""Slash commands in a real session do as they say, without a model request."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.scripted import Call, Fail, Hang, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.declarations import (
    BUILT_IN,
    Declaration,
    first_word,
    is_command,
    parse,
    plain_text,
    prompt_of,
    split_words,
    usage,
)
from desktop_agent.core.slash.session_commands import Services
from tests.harness import Ground, Open

SUMMARY = '{"goals": ["keep going"], "files": ["a.txt"]}'


async def command(opened: Open, text: str) -> ev.CommandRun:
    return await opened.carry_out(ops.RunCommand(text=text), ev.CommandRun)


async def fine(opened: Open, text: str) -> str:
    said = await command(opened, text)
    assert not said.is_error, said.output
    assert said.text == text
    return said.output


async def bad(opened: Open, text: str) -> str:
    said = await command(opened, text)
    assert said.is_error, said.output
    return said.output


def model_of(opened: Open) -> ModelRef:
    model = opened.session.transcript.session.model
    assert model is not None
    return model


@pytest.fixture
async def opened(ground: Ground) -> AsyncIterator[Open]:
    """A session in which nothing has happened, and whose model is never asked."""
    async with ground.session([]) as opened:
        yield opened
        assert opened.provider.requests == []


SEVEN: list[Reply] = [[Say("answer")] for _ in range(7)]


async def talk(opened: Open) -> None:
    for _ in SEVEN:
        await opened.prompt()


def write(path: str, content: str) -> Call:
    return Call("create_file", {"path": path, "content": content})


@pytest.mark.parametrize("declared", BUILT_IN, ids=lambda declared: declared.name)
async def test_no_command_asks_the_model_in_an_empty_session(opened: Open, declared: Declaration) -> None:
    await command(opened, f"/{declared.name}")
    assert opened.rx.all(ev.PromptSubmitted) == []


@pytest.mark.parametrize(
    "text",
    [
        *("/pin add", "/pin add --ttl=60", "/pin add --ttl=x y", "/pin add --tll=6 y", "/pin add --ttl=-1 y"),
        *("/pin add --ttl=nan y", "/pin eat", "/pin remove", "/pin remove nothing", "/unpin", "/unpin nothing"),
        *("/undo turn 99", "/undo file nothing.txt", "/undo x", "/undo turn x", "/redo"),
        *("/rewind 9", "/rewind x", "/rewind 1 everything", "/rewind 1 both now"),
        *("/model nobody/x", "/model anthropic/", "/model a b c"),
    ],
)
async def test_what_cannot_be_carried_out_is_refused_in_one_place(opened: Open, text: str) -> None:
    before = opened.session.transcript.session
    assert await bad(opened, text)
    assert opened.rx.all(ev.Notice) == []
    assert opened.session.transcript.context.pins == {}
    assert opened.session.transcript.session == before


class TestStatus:
    async def test_it_tells_of_tokens_compaction_and_pins(self, ground: Ground) -> None:
        async with ground.session([[Say("hello")]]) as opened:
            await opened.prompt()
            await fine(opened, "/pin add --ttl=3600 keep `it` short")
            output = await fine(opened, "/status")
            assert re.search(r"Tokens: [\d,]+ of [\d,]+ \(\d+%\)", output)
            assert "Auto-compaction: on" in output
            assert "Last compaction: none" in output
            assert "Active pins: 1" in output
            assert "``keep `it` short``" in output
            assert opened.id in output
            assert str(ground.workspace) in output
            assert "scripted/scripted" in output
            assert len(opened.provider.requests) == 1

    async def test_it_answers_while_the_agent_works(self, ground: Ground) -> None:
        async with ground.session([[Say("well"), Hang()]]) as opened:
            await opened.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
            assert "working" in await fine(opened, "/status")
            await fine(opened, "/pin add now")
            await opened.carry_out(ops.Interrupt(), ev.TurnEnded)


class TestPins:
    async def test_a_pin_is_added_listed_and_removed(self, opened: Open) -> None:
        output = await fine(opened, "/pin add don't touch the tests")
        assert output.startswith("Pinned")
        (pin,) = opened.session.transcript.context.pins.values()
        assert pin.text == "don't touch the tests"
        assert pin.id in output
        assert pin.id in await fine(opened, "/pin list")
        assert pin.id in await fine(opened, f"/unpin {pin.id}")
        assert opened.session.transcript.context.pins == {}

    @pytest.mark.parametrize("text", ["--ttl=60 short", "--ttl 60 short", '--ttl=60 "short"'])
    async def test_a_pin_can_have_an_end(self, opened: Open, text: str) -> None:
        assert "until" in await fine(opened, f"/pin add {text}")
        (pin,) = opened.session.transcript.context.pins.values()
        assert pin.text == "short"
        assert pin.expires_at is not None
        await fine(opened, f"/pin remove {pin.id}")


class TestCompact:
    async def test_it_says_what_came_of_it(self, ground: Ground) -> None:
        async with ground.session([*SEVEN, [Say(SUMMARY)]]) as opened:
            await talk(opened)
            output = await fine(opened, "/compact the plan")
            assert output.startswith("Compaction")
            assert "`the plan`" in output
            assert "Last compaction: none" not in await fine(opened, "/status")
            assert len(opened.provider.requests) == len(SEVEN) + 1

    async def test_nothing_to_summarise_is_said_without_a_request(self, opened: Open) -> None:
        assert (await bad(opened, "/compact")).startswith("Compaction")
        assert opened.rx.all(ev.Notice) == []

    async def test_a_model_that_cannot_be_reached_is_said(self, ground: Ground) -> None:
        failing = [Fail(ProviderError("No way there.", fault="authentication"))]
        async with ground.session([*SEVEN, failing]) as opened:
            await talk(opened)
            assert "No way there." in await bad(opened, "/compact")

    async def test_it_can_be_stopped_and_the_session_answers_meanwhile(self, ground: Ground) -> None:
        async with ground.session([*SEVEN, [Hang()]]) as opened:
            await talk(opened)
            opened.submit(ops.RunCommand(text="/compact"))
            assert "being made now" in await fine(opened, "/status")
            said = await opened.carry_out(ops.Interrupt(), ev.CommandRun)
            assert said.text == "/compact"
            assert said.is_error
            assert "stopped" in said.output

    async def test_closing_ends_it_and_what_it_came_to_is_on_record(self, ground: Ground) -> None:
        async with ground.session([*SEVEN, [Hang()]]) as opened:
            await talk(opened)
            opened.submit(ops.RunCommand(text="/compact"))
            await fine(opened, "/status")
            await opened.close()
            assert "stopped" in opened.rx.all(ev.CommandRun)[-1].output


class TestChanges:
    async def test_diff_undo_and_redo(self, ground: Ground) -> None:
        ground.write("b.txt", "old\n")
        steps = [write("a.txt", "new\n"), Call("delete_file", {"path": "b.txt"})]
        async with ground.session([steps, [Say("done")]], approval="never", sandbox="none") as opened:
            opened.submit(ops.SetMode(approval="on_request"))
            await opened.prompt()
            patch = await fine(opened, "/diff")
            assert "+new" in patch
            assert "-old" in patch
            assert "2 files" in patch
            assert "a.txt" in await fine(opened, "/undo")
            assert not (ground.workspace / "a.txt").exists()
            assert ground.read("b.txt") == "old\n"
            assert "no file" in await fine(opened, "/diff")
            assert "nothing to undo" in await bad(opened, "/undo")
            await fine(opened, "/redo file ./a.txt")
            assert ground.read("a.txt") == "new\n"
            assert ground.read("b.txt") == "old\n"
            await fine(opened, "/undo call")
            assert not (ground.workspace / "a.txt").exists()
            await fine(opened, "/redo all")
            assert not (ground.workspace / "b.txt").exists()
            assert ground.read("a.txt") == "new\n"
            assert "no undo" in await fine(opened, "/redo steps")
            await fine(opened, "/undo file a.txt")
            await fine(opened, "/undo")
            listed = (await fine(opened, "/redo steps")).splitlines()[2:]
            assert [line.partition(": ")[2] for line in listed] == ["`turn 1: b.txt`", "`turn 1: a.txt`"]
            older = listed[1].removeprefix("- ").partition(":")[0]
            assert "a.txt" in await fine(opened, f"/redo step {older}")
            assert (ground.read("a.txt"), ground.read("b.txt")) == ("new\n", "old\n")
            assert "no such undo" in await bad(opened, f"/redo step {older}")
            await fine(opened, "/redo")
            assert not (ground.workspace / "b.txt").exists()
            await fine(opened, "/undo 1")
            assert ground.read("b.txt") == "old\n"
            assert len(opened.provider.requests) == 2
            assert opened.rx.all(ev.Notice) == []

    async def test_they_wait_for_the_agent(self, ground: Ground) -> None:
        async with ground.session([[Say("well"), Hang()]]) as opened:
            await opened.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
            for name in ("undo all", "redo", "rewind 1", "compact"):
                assert "The agent is working" in await bad(opened, f"/{name}")
            await opened.carry_out(ops.Interrupt(), ev.TurnEnded)

    async def test_they_are_carried_out_while_a_turn_only_waits_for_an_answer(self, ground: Ground) -> None:
        async with ground.session([[write("a.txt", "new\n")], [write("b.txt", "new\n")], [Say("done")]]) as opened:
            asked = await opened.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
            answer = ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed())
            await opened.carry_out(answer, ev.ApprovalRequested)
            assert "a.txt" in await fine(opened, "/undo")
            assert not (ground.workspace / "a.txt").exists()
            assert "turn 1: a.txt" in await fine(opened, "/redo steps")
            await fine(opened, "/redo")
            assert ground.read("a.txt") == "new\n"
            assert len(opened.session.transcript.pending_approvals) == 1
            assert "The agent is working" in await bad(opened, "/rewind 1")
            await opened.carry_out(ops.Interrupt(), ev.TurnEnded)

    async def test_a_fence_in_a_file_does_not_end_the_patch(self, ground: Ground) -> None:
        steps = [write("a.md", "```\nx\n````\n")]
        async with ground.session([steps, [Say("done")]], approval="on_request", sandbox="none") as opened:
            await opened.prompt()
            patch = await fine(opened, "/diff")
            assert "`````diff" in patch


class TestRewind:
    async def test_it_lists_turns_and_goes_back(self, ground: Ground) -> None:
        replies = [[write("a.txt", "1\n")], [Say("one")], [Say("two")]]
        async with ground.session(replies, approval="on_request", sandbox="none") as opened:
            await opened.prompt("first `thing`")
            await opened.prompt("second")
            listed = await fine(opened, "/rewind")
            assert "1: `` first `thing` ``" in listed
            assert "2: `second`" in listed
            await fine(opened, "/rewind 2 conversation")
            assert ground.read("a.txt") == "1\n"
            await fine(opened, "/rewind 1")
            assert not (ground.workspace / "a.txt").exists()
            assert "no turn" in await fine(opened, "/rewind")


class TestModel:
    async def test_it_shows_and_sets_the_model(self, opened: Open) -> None:
        assert "scripted/scripted" in await fine(opened, "/model")
        await fine(opened, "/model anthropic/claude-sonnet-5")
        assert (model_of(opened).provider, model_of(opened).model) == ("anthropic", "claude-sonnet-5")
        await fine(opened, "/model claude-opus-5")
        assert (model_of(opened).provider, model_of(opened).model) == ("anthropic", "claude-opus-5")

    async def test_it_sets_the_account_which_stays_while_the_provider_does(self, ground: Ground) -> None:
        AccountsFile(ground.paths.config / ACCOUNTS_NAME).put(Account(provider="anthropic", name="work"))
        async with ground.session([]) as opened:
            assert "work" in await fine(opened, "/model anthropic/claude-sonnet-5 work")
            await fine(opened, "/model claude-opus-5")
            assert (model_of(opened).model, model_of(opened).account) == ("claude-opus-5", "work")
            assert "work" not in await fine(opened, "/model claude-opus-5 usual")

    async def test_an_account_that_is_not_there_is_refused_with_those_that_are(self, opened: Open) -> None:
        assert "usual" in await bad(opened, "/model anthropic/claude-sonnet-5 work")
        assert "scripted/scripted" in await fine(opened, "/model")


class TestWindow:
    async def test_the_meter_has_the_window_that_is_known_of_the_model(self, ground: Ground) -> None:
        ground.paths.config.mkdir(parents=True, exist_ok=True)
        stated = '[[model]]\nprovider = "anthropic"\nname = "m"\ncontext_tokens = 40960\n'
        (ground.paths.config / MODELS_FILE_NAME).write_text(stated)
        async with ground.session([]) as opened:
            await fine(opened, "/model anthropic/m")
            assert "of 40,960 " in await fine(opened, "/status")
            await fine(opened, "/model anthropic/claude-sonnet-5-5")
            assert "of 1,000,000 " in await fine(opened, "/status")
            await fine(opened, "/model anthropic/of-tomorrow")
            assert "of 200,000 " in await fine(opened, "/status"), "as the settings say, where nobody else does"


class TestEffort:
    async def test_it_shows_and_sets_the_level_which_stays_with_the_model(self, opened: Open) -> None:
        await fine(opened, "/model anthropic/claude-sonnet-5-5")
        assert "the model's own" in await fine(opened, "/effort")
        assert "`high` from now on" in await fine(opened, "/effort HIGH")
        assert model_of(opened).effort == "high"
        assert "effort `high`" in await fine(opened, "/status")
        assert "`high`" in await fine(opened, "/effort")
        await fine(opened, "/model anthropic/claude-opus-5-5")
        assert model_of(opened).effort == ""

    async def test_the_models_own_is_a_level_too(self, opened: Open) -> None:
        await fine(opened, "/model anthropic/claude-sonnet-5-5")
        await fine(opened, "/effort low")
        assert "the model's own from now on" in await fine(opened, "/effort default")

    async def test_a_level_that_the_model_does_not_know_is_refused_with_those_that_it_knows(
        self, ground: Ground
    ) -> None:
        ground.paths.config.mkdir(parents=True, exist_ok=True)
        stated = '[[model]]\nprovider = "anthropic"\nname = "m"\nefforts = ["low", "high"]\n'
        none = '[[model]]\nprovider = "anthropic"\nname = "n"\nefforts = []\n'
        (ground.paths.config / MODELS_FILE_NAME).write_text(stated + none)
        async with ground.session([]) as opened:
            await fine(opened, "/model anthropic/m")
            assert "Available: default, low, high." in await bad(opened, "/effort max")
            await fine(opened, "/model anthropic/n")
            assert "has no effort levels" in await bad(opened, "/effort low")
            assert "has no effort levels" in await fine(opened, "/effort")
            assert await bad(opened, "/effort low high")

    async def test_a_model_without_a_vendor_has_none(self, opened: Open) -> None:
        assert "effort cannot be set" in await bad(opened, "/effort high")


class TestServices:
    async def test_a_setting_holds_from_the_next_step_on(self, opened: Open) -> None:
        assert "keep_last_turns = 4" in await fine(opened, "/config")
        await fine(opened, "/config set compaction.auto=false")
        assert "Auto-compaction: off" in await fine(opened, "/status")
        assert "auto = false" in await fine(opened, "/config compaction")
        assert await bad(opened, "/config no")
        assert await bad(opened, "/config set compaction.keep_last_turns")
        assert "Allowed" in await bad(opened, "/config set compaction.keep_last_turns=many")
        assert "no setting" in await bad(opened, "/config set no.such=6")

    async def test_what_no_file_can_hold_is_refused_in_words(self, opened: Open) -> None:
        assert "no text" in await bad(opened, "/config set model.name=\ud800")
        assert "no text" in await bad(opened, "/config set execution.blocked_commands=a\ud800")
        assert "NUL" in await bad(opened, "/config set runner.audit_log=a\0b")

    async def test_it_shows_what_holds_in_a_project_that_is_stricter(self, ground: Ground) -> None:
        text = '[execution]\nsandbox = "strict"\n'
        ground.write(".desktop-agent/config.toml", text)
        bench = ground.bench(ScriptedProvider(in_order([])))
        bench.settings_in(ground.workspace.resolve()).remember("trusted", text)
        async with ground.session([[Say("ok")]]) as opened:
            await opened.prompt()
            assert 'sandbox = "strict"' in await fine(opened, "/config execution")
            said = await fine(opened, "/config set execution.sandbox=none")
            assert "this project is stricter" in said
            assert '"strict"' in said

    async def test_a_fork_is_a_session_of_its_own(self, ground: Ground) -> None:
        async with ground.session([[Say("one")], [Say("two")]]) as opened:
            await opened.prompt("first")
            await opened.prompt("second")
            made = (await command(opened, "/fork 2")).opens
            whole = (await command(opened, "/fork")).opens
            assert len({made, whole, opened.id, ""}) == 4
            assert "no turn 9" in await bad(opened, "/fork 9")
            assert await bad(opened, "/fork x")
            assert len(opened.provider.requests) == 2
        async with ground.session([], resume=made) as forked:
            assert forked.transcript.turn == 1
            assert forked.transcript.session.forked_from == opened.id

    async def test_an_export_holds_what_was_said_and_writes_over_nothing(self, ground: Ground) -> None:
        async with ground.session([[Say("one")]]) as opened:
            await opened.prompt("first of all")
            assert await fine(opened, "/export") != await fine(opened, "/export md")
            assert "first of all" in ground.read(f"{opened.id}.md")
            await fine(opened, '/export "my talk.html"')
            assert "<html" in ground.read("my talk.html")
            assert "already exists" in await bad(opened, "/export html 'my talk.html'")
            assert await bad(opened, "/export talk.pdf")
            assert "could not be written" in await bad(opened, "/export md no/such/folder.md")

    async def test_a_command_without_its_service_is_not_offered(self, ground: Ground) -> None:
        ground.services = Services()
        async with ground.session([]) as opened:
            assert "/export" not in await fine(opened, "/help")
            assert "no command" in await bad(opened, "/export")


class TestHelpAndMistakes:
    async def test_help_lists_every_command(self, opened: Open) -> None:
        output = await fine(opened, "/help")
        for declared in BUILT_IN:
            assert f"`{usage(declared)}`" in output

    async def test_an_unknown_command_names_the_nearest_and_how_to_send_it(self, opened: Open) -> None:
        output = await bad(opened, "/statsu")
        assert "`/status`" in output
        assert "space" in output
        assert "`/etc/hosts`" not in output
        assert await bad(opened, "/etc/hosts is odd")
        assert await bad(opened, "/")

    async def test_words_too_many_are_not_ignored(self, opened: Open) -> None:
        for text in ("/status now", "/help me", "/clear all", "/diff a.txt"):
            assert "is not expected there" in await bad(opened, text)

    async def test_clear_says_that_the_conversation_stays(self, opened: Open) -> None:
        assert "stays" in await fine(opened, "/clear")

    async def test_a_command_is_not_seen_by_the_model_and_comes_back_after_a_restart(self, ground: Ground) -> None:
        async with ground.session([[Say("hi")]]) as opened:
            await fine(opened, "/pin add x")
            await opened.prompt("hello")
            assert "/pin" not in str(opened.last_request.messages)
            session_id = opened.id
        async with ground.session([], resume=session_id) as again:
            assert any(isinstance(entry, ev.CommandRun) for entry in again.transcript.entries)


class TestOwnCommands:
    async def test_it_becomes_a_prompt(self, ground: Ground) -> None:
        folder = ground.paths.config / "commands"
        folder.mkdir(parents=True)
        (folder / "review.md").write_text("Review $1.")
        async with ground.session([[Say("fine")]]) as opened:
            opened.submit(ops.RunCommand(text="/review a.py"))
            assert (await opened.rx.expect(ev.PromptSubmitted)).text == "Review a.py."
            await opened.rx.expect(ev.TurnEnded)
            assert opened.rx.all(ev.CommandRun) == []
            assert "Review" in await fine(opened, "/help")

    async def test_it_waits_while_the_agent_works(self, ground: Ground) -> None:
        ground.write(".desktop-agent/commands/again.md", "Once more.")
        async with ground.session([[Say("well"), Hang()]]) as opened:
            await opened.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
            assert (await opened.carry_out(ops.RunCommand(text="/again"), ev.Queued)).text == "Once more."
            await opened.carry_out(ops.Interrupt(), ev.TurnEnded)

    async def test_one_that_cannot_be_used_says_why(self, ground: Ground) -> None:
        ground.write(".desktop-agent/commands/empty.md", "")
        async with ground.session([]) as opened:
            assert "it is empty" in await bad(opened, "/empty")
            assert "cannot be used" in await fine(opened, "/help")

    async def test_notices_of_its_turn_are_shown(self, ground: Ground) -> None:
        ground.write(".desktop-agent/commands/go.md", "Go.")
        async with ground.session([[Fail(ProviderError("No way there.", fault="authentication"))]]) as opened:
            assert (await opened.carry_out(ops.RunCommand(text="/go"), ev.Notice)).title == "No way there."
            await opened.rx.expect(ev.TurnEnded)


async def test_a_defect_in_a_command_ends_neither_the_session_nor_the_silence(
    ground: Ground, caplog: pytest.LogCaptureFixture, expected_logs: list[str]
) -> None:
    expected_logs.append("A command failed unexpectedly")

    def broken(folder: Path) -> WorkspaceSettings:
        raise RuntimeError("boom")

    ground.services = Services(config=broken)
    async with ground.session([]) as opened:
        assert "inside the application" in await bad(opened, "/config")
        assert await fine(opened, "/status")
    assert "boom" in caplog.text


anything = st.text(max_size=200)
tricky = st.text(alphabet="\"'\\ \t\nab-=/", max_size=40)


class TestWhatIsACommand:
    @pytest.mark.parametrize("text", ["/status", "/", "/pin add x", "/no such thing"])
    def test_a_line_that_begins_with_a_slash_is_a_command(self, text: str) -> None:
        assert is_command(text)

    @pytest.mark.parametrize(
        ("text", "prompt"),
        [
            (" /etc/hosts is odd", "/etc/hosts is odd"),
            ("//etc/hosts is odd", "/etc/hosts is odd"),
            ("fix a/b", "fix a/b"),
            ("///", "//"),
            ("\n/x", "/x"),
        ],
    )
    def test_a_space_or_a_second_slash_makes_it_a_prompt(self, text: str, prompt: str) -> None:
        assert not is_command(text)
        assert prompt_of(text) == prompt

    @given(anything)
    def test_every_prompt_can_be_sent(self, prompt: str) -> None:
        wanted = prompt.strip()
        assert not is_command(f" {wanted}")
        assert prompt_of(f" {wanted}") == wanted


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("add don't touch it", ("add", "don't", "touch", "it")),
            ('file "a b.txt" now', ("file", "a b.txt", "now")),
            ("'a \"b\"' c", ('a "b"', "c")),
            (r"C:\Users\x", (r"C:\Users\x",)),
            (r'"say \"hi\" and \\"', ('say "hi" and \\',)),
            ('"open', ('"open',)),
            ('"a"b', ('"a"b',)),
            ('""', ("",)),
            ("", ()),
        ],
    )
    def test_quotes_group_words_and_apostrophes_do_not(self, text: str, words: tuple[str, ...]) -> None:
        assert split_words(text) == words

    @given(st.lists(st.one_of(anything, tricky), max_size=6))
    def test_any_words_can_be_said_in_quotes(self, words: list[str]) -> None:
        quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
        assert list(split_words(" ".join(f'"{word}"' for word in quoted))) == words

    @given(st.one_of(anything, tricky))
    def test_nothing_that_is_typed_is_too_much(self, text: str) -> None:
        parse(f"/{text}")
        parse(text)
        split_words(text)
        first_word(text)
        plain_text(text)

    def test_the_rest_of_a_command_is_as_it_was_written(self) -> None:
        invocation = parse("/PIN  add  two  spaces\nand a line ")
        assert invocation.name == "pin"
        assert invocation.rest == "add  two  spaces\nand a line"
        assert first_word(invocation.rest) == ("add", "two  spaces\nand a line")

    @pytest.mark.parametrize(
        ("text", "plain"), [('"a  b"', "a  b"), ('"a" and "b"', '"a" and "b"'), ("don't", "don't"), ("'x'", "x")]
    )
    def test_quotes_around_all_of_a_text_are_no_part_of_it(self, text: str, plain: str) -> None:
        assert plain_text(text) == plain
