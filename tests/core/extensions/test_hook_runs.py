"""What hooks do in a session: real commands, in Claude's protocol, at each of its moments."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalPolicy,
    Denied,
    JsonObject,
    ModelRef,
    ModelRequest,
    TextBlock,
    UserMessage,
)
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Hang, Reply, Say, ScriptedProvider
from desktop_agent.core.settings.sections import HookSettings, Settings
from desktop_agent.core.transcript import HookEntry
from tests.harness import Ground, Open, check_conversation

RUN = Call("run_terminal_cmd", {"command": "echo made > made.txt"})
LOOK = Call("run_terminal_cmd", {"command": "echo seen"})
EDIT = Call("create_file", {"path": "new.txt", "content": "new\n"})


def answering(**values: object) -> str:
    """Return a command that answers with JSON."""
    return f"echo '{json.dumps(values)}'"


def deciding(word: str, **more: object) -> str:
    own = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "so be it", **more}
    return answering(hookSpecificOutput=own)


def hook(command: str, **more: object) -> JsonObject:
    return {"type": "command", "command": command, **more}


def define(groups: JsonObject) -> None:
    place = Path(os.environ["HOME"], ".claude", "settings.json")
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps({"hooks": groups}))


@asynccontextmanager
async def with_hooks(
    ground: Ground,
    script: Iterable[Reply],
    approval: ApprovalPolicy = "on_write",
    /,
    *,
    matcher: str = "",
    **hooks: JsonObject | list[JsonObject],
) -> AsyncGenerator[Open]:
    """Open a session in which the user's hooks for Claude Code run: by moment, one or several."""
    groups: JsonObject = {
        event: [{"matcher": matcher, "hooks": one if isinstance(one, list) else [one]}] for event, one in hooks.items()
    }
    define(groups)
    ground.settings = Settings(hooks=HookSettings(from_home=True))
    async with ground.session(script, approval=approval) as opened:
        yield opened


async def is_written(path: Path) -> None:
    while not path.exists() or not path.read_text().endswith("\n"):  # noqa: ASYNC110, ASYNC240 - another program writes it
        await asyncio.sleep(0.01)


def runs(opened: Open, moment: str = "") -> list[ev.HookRan]:
    return [run for run in opened.rx.all(ev.HookRan) if not moment or run.moment == moment]


def told(opened: Open) -> str:
    """Return the text of the user's side in the last request."""
    check_conversation(opened.last_request)
    messages = [one for one in opened.last_request.messages if isinstance(one, UserMessage)]
    return "\n".join(block.text for one in messages for block in one.content if isinstance(block, TextBlock))


async def test_a_denied_call_does_not_run_and_the_model_reads_why(ground: Ground) -> None:
    deny = hook("echo 'not on my watch' >&2; exit 2")
    async with with_hooks(ground, [[RUN], [Say("Well.")]], "never", PreToolUse=deny) as s:
        await s.prompt()
        (result,) = s.results()
    assert result.is_error
    assert "not on my watch" in result.content
    assert not (ground.workspace / "made.txt").exists()
    (run,) = runs(s)
    assert (run.decision, run.exit_code, run.state) == ("deny", 2, "completed")
    assert run.call_id == result.call_id


async def test_a_yes_answers_what_the_policy_would_ask(ground: Ground) -> None:
    async with with_hooks(ground, [[EDIT], [Say("Done.")]], PreToolUse=hook(deciding("allow"))) as s:
        await s.prompt()
    assert not s.rx.all(ev.ApprovalRequested)
    assert ground.read("new.txt") == "new\n"


async def test_a_yes_does_not_allow_what_is_forbidden(ground: Ground) -> None:
    call = Call("create_file", {"path": ".git/config", "content": "[core]\n"})
    async with with_hooks(ground, [[call], [Say("Done.")]], PreToolUse=hook(deciding("allow"))) as s:
        await s.prompt()
        (result,) = s.results()
    assert result.is_error
    assert not (ground.workspace / ".git").exists()


async def test_a_yes_does_not_answer_what_no_rule_could(ground: Ground) -> None:
    """A secret is only ever allowed once, by the user."""
    ground.write(".env", "KEY=1\n")
    call = Call("run_terminal_cmd", {"command": "cat .env"})
    async with with_hooks(ground, [[call], [Say("Done.")]], PreToolUse=hook(deciding("allow"))) as s:
        asked = await s.begin(Denied())
        await s.rx.expect(ev.TurnEnded)
    assert ".env" in asked.request.reason


async def test_a_hook_can_ask_about_what_would_run_without_a_question(ground: Ground) -> None:
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hook(deciding("ask"))) as s:
        asked = await s.begin(Allowed())
        await s.rx.expect(ev.TurnEnded)
    assert asked.request.reason.startswith("so be it")
    assert [offer.scope for offer in asked.request.scopes] == ["once"], "a rule would not answer the hook"


async def test_where_nobody_is_asked_a_hooks_question_is_a_no(ground: Ground) -> None:
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], "never", PreToolUse=hook(deciding("ask"))) as s:
        await s.prompt()
        (result,) = s.results()
    assert result.is_error
    assert "so be it" in result.content


async def test_changed_input_is_judged_anew_and_shown_as_changed(ground: Ground) -> None:
    change = hook(answering(hookSpecificOutput={"hookEventName": "PreToolUse", "updatedInput": RUN.arguments}))
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=change) as s:
        asked = await s.begin(Allowed())
        await s.rx.expect(ev.TurnEnded)
        (result,) = s.results()
    assert asked.request.command == "echo made > made.txt"
    assert asked.request.reason.startswith("A hook changed this. The model wrote: `echo seen`.")
    assert "What ran: " in result.content
    assert ground.read("made.txt") == "made\n"
    assert runs(s)[0].changed == RUN.arguments


async def test_a_yes_to_its_own_change_does_not_answer_what_no_rule_could(ground: Ground) -> None:
    ground.write(".env", "KEY=1\n")
    change = hook(deciding("allow", updatedInput={"command": "cat .env"}))
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=change) as s:
        asked = await s.turn(Denied())
    assert asked.request.command == "cat .env"


async def test_a_hook_reads_claudes_names_and_fields(ground: Ground) -> None:
    keep = hook(f"cat > '{ground.workspace}/read.json'; pwd > '{ground.workspace}/where'; echo $CLAUDE_PROJECT_DIR")
    edit = Call("edit_file", {"path": "a.py", "old_str": "1", "new_str": "2"})
    ground.write("a.py", "1\n")
    async with with_hooks(ground, [[edit], [Say("Done.")]], matcher="Edit|Write", PreToolUse=keep) as s:
        await s.turn(Denied())
    read = json.loads(ground.read("read.json"))
    assert read["hook_event_name"] == "PreToolUse"
    assert (read["tool_name"], read["session_id"], read["cwd"]) == ("Edit", s.id, str(ground.workspace))
    path = str(ground.workspace / "a.py")
    assert read["tool_input"] == {"file_path": path, "old_string": "1", "new_string": "2"}
    assert ground.read("where").strip() == runs(s)[0].output == str(ground.workspace)


async def test_one_no_counts_more_than_a_question_and_that_more_than_a_yes(ground: Ground) -> None:
    three = [hook(deciding(word) + f" # {word}") for word in ("allow", "ask", "deny")]
    async with with_hooks(ground, [[EDIT], [Say("Done.")]], PreToolUse=three) as s:
        await s.prompt()
    assert [run.decision for run in runs(s)] == ["allow", "ask", "deny"], "recorded in their order"
    assert not s.rx.all(ev.ApprovalRequested)
    assert not (ground.workspace / "new.txt").exists()


@pytest.mark.parametrize(
    ("command", "limit_s", "state", "words"),
    [
        ("sleep 600", 0.3, "timed_out", "took longer than 0.3 s"),
        ("exec /no/such/program", 60, "failed", "could not check this"),
        ("kill -9 $$", 60, "failed", "could not check this"),
        ("yes", 60, "flooded", "printed more than 1 MiB"),
        ("echo '{'", 60, "failed", "not valid JSON"),
        ("""echo '{"hookSpecificOutput": {"permissionDecision": "perhaps"}}'""", 60, "failed", "must be one of"),
    ],
)
async def test_a_hook_that_could_not_check_does_not_let_a_call_pass(
    ground: Ground, command: str, limit_s: float, state: str, words: str
) -> None:
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hook(command, timeout=limit_s)) as s:
        asked = await s.begin(Denied())
        await s.rx.expect(ev.TurnEnded)
    assert words in asked.request.reason
    (run,) = runs(s)
    assert (run.state, run.decision) == (state, "ask")


async def test_another_failure_of_a_hook_blocks_nothing(ground: Ground) -> None:
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hook("echo oops >&2; exit 1")) as s:
        await s.prompt()
        (result,) = s.results()
    assert not result.is_error
    (run,) = runs(s)
    assert (run.state, run.exit_code, run.reason, run.output) == ("failed", 1, "oops", "oops")


async def test_what_a_hook_says_after_a_call_reaches_the_model(ground: Ground) -> None:
    after = hook("cat > after.json; echo 'run the linter' >&2; exit 2")
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PostToolUse=after) as s:
        await s.prompt()
        said = told(s)
    assert "[A hook of the user's says (PostToolUse):]\nrun the linter" in said
    read = json.loads(ground.read("after.json"))
    assert (read["tool_response"]["stdout"], read["tool_response"]["exit_code"]) == ("seen\n", 0)


async def test_a_blocked_prompt_never_reaches_the_model(ground: Ground) -> None:
    guard = hook("grep -q password && { echo 'no passwords' >&2; exit 2; }; exit 0")
    async with with_hooks(ground, [[Say("Hello.")]], UserPromptSubmit=guard) as s:
        blocked = await s.prompt("my password is x")
        ended = await s.prompt("hello")
        said = told(s)
    assert (blocked.reason, blocked.requests, ended.reason) == ("hook", 0, "completed")
    assert "password" not in said
    assert "hello" in said


async def test_what_hooks_add_at_the_start_and_with_a_prompt_is_told(ground: Ground) -> None:
    start = hook(answering(hookSpecificOutput={"hookEventName": "SessionStart", "additionalContext": "It is Monday."}))
    async with with_hooks(
        ground, [[Say("Hello.")], [Say("Yes.")]], SessionStart=start, UserPromptSubmit=hook("echo be brief")
    ) as s:
        await s.prompt("hello")
        first = told(s)
        await s.prompt("again")
        second = told(s)
    assert "It is Monday." in first
    assert second.count("It is Monday.") == 1
    assert second.count("be brief") == 2


async def test_a_hook_can_have_the_turn_go_on_but_not_for_ever(ground: Ground) -> None:
    more = hook(answering(decision="block", reason="Run the tests, too."))
    async with with_hooks(ground, [[Say(f"Part {number}.")] for number in range(20)], Stop=more) as s:
        ended = await s.prompt()
        said = told(s)
    assert ended.reason == "completed"
    assert said.count("Run the tests, too.") == 8
    assert len(runs(s, "Stop")) == 9
    assert any("kept the turn from ending" in notice.title for notice in s.rx.all(ev.Notice))


async def test_a_hook_that_respects_its_own_flag_goes_on_once(ground: Ground) -> None:
    once = hook("grep -q '\"stop_hook_active\": true' || { echo more >&2; exit 2; }")
    async with with_hooks(ground, [[Say("One.")], [Say("Two.")]], Stop=once) as s:
        ended = await s.prompt()
    assert (ended.reason, ended.requests) == ("completed", 2)


async def test_a_hook_can_stop_the_turn(ground: Ground) -> None:
    stop = hook(answering(**{"continue": False, "stopReason": "Budget used up."}))
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=stop) as s:
        ended = await s.prompt()
    assert ended.reason == "hook"
    assert len(s.provider.requests) == 1


async def test_the_question_can_be_answered_by_a_hook(ground: Ground) -> None:
    allow = answering(hookSpecificOutput={"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}})
    async with with_hooks(ground, [[EDIT], [Say("Done.")]], PermissionRequest=hook(allow)) as s:
        await s.prompt()
    assert not s.rx.all(ev.ApprovalRequested)
    assert ground.read("new.txt") == "new\n"


async def test_the_question_can_be_refused_by_a_hook(ground: Ground) -> None:
    deny = {"behavior": "deny", "message": "Not now."}
    command = answering(hookSpecificOutput={"hookEventName": "PermissionRequest", "decision": deny})
    async with with_hooks(ground, [[EDIT], [Say("Done.")]], PermissionRequest=hook(command)) as s:
        await s.prompt()
        (result,) = s.results()
    assert "Not now." in result.content
    assert not (ground.workspace / "new.txt").exists()


async def test_hooks_are_told_that_a_question_waits(ground: Ground) -> None:
    seen = ground.workspace / "seen.json"
    async with with_hooks(ground, [[EDIT], [Say("Done.")]], Notification=hook(f"cat > '{seen}'")) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = await s.rx.expect(ev.ApprovalRequested)
        await s.rx.expect(ev.HookRan)
        assert json.loads(seen.read_text())["notification_type"] == "permission_prompt"
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Denied()))
        await s.rx.expect(ev.TurnEnded)


async def test_hooks_are_told_that_a_turn_is_over_but_not_one_that_the_user_stopped(ground: Ground) -> None:
    tell = hook("cat >> told.jsonl; echo >> told.jsonl")
    async with with_hooks(ground, [[Say("One.")], [Hang()]], Notification=tell) as s:
        await s.prompt()
        await s.rx.expect(ev.HookRan)
        await s.carry_out(ops.SubmitPrompt(text="go on"), ev.TurnStarted)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    (told_once,) = map(json.loads, ground.read("told.jsonl").splitlines())
    assert (told_once["notification_type"], told_once["message"]) == ("idle_prompt", "The agent is done.")


async def test_a_notification_just_before_the_session_closes_still_comes(ground: Ground) -> None:
    async with with_hooks(ground, [[Say("One.")]], Notification=hook("cat > told.json")) as s:
        await s.prompt()
    assert json.loads(ground.read("told.json"))["notification_type"] == "idle_prompt"
    assert [run.state for run in runs(s, "Notification")] == ["completed"]


async def test_nobody_is_notified_where_nobody_is_waited_for(ground: Ground) -> None:
    async with with_hooks(ground, [[Say("One.")]], Notification=hook("touch told")) as s:
        await s.prompt()
        earlier = s.session.id
    (ground.workspace / "told").unlink()
    async with ground.session([[Say("Two.")]], resume=earlier, is_attended=False) as s:
        await s.prompt()
    assert not (ground.workspace / "told").exists()


def with_a_child(request: ModelRequest) -> Reply:
    """Have a sub-agent write a file, and end."""
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    is_child = any(isinstance(block, TextBlock) and block.text.endswith("write it") for block in first.content)
    answered = sum(message.role == "assistant" for message in request.messages)
    if is_child:
        return [EDIT] if answered == 0 else [Say(f"Written, {answered}.")]
    return [TASK] if answered == 0 else [Say("All done.")]


TASK = Call("task", {"description": "Write", "prompt": "write it", "role": "general"})


async def test_hooks_see_a_sub_agent_begin_and_have_it_go_on(ground: Ground) -> None:
    note = "cat >> moments.jsonl; echo >> moments.jsonl"
    begin = hook(f"{note}; echo 'The file is called new.txt.'")
    once = hook("tee -a moments.jsonl | grep -q '\"stop_hook_active\": true' || { echo 'Check it.' >&2; exit 2; }")
    requests: list[ModelRequest] = []

    def script(request: ModelRequest) -> Reply:
        requests.append(request)
        return with_a_child(request)

    async def source(_model: ModelRef) -> Provider:
        return ScriptedProvider(script, clock=ground.clock)

    define({"SubagentStart": [begin], "SubagentStop": [once], "SessionStart": [hook(note)], "Stop": [hook(note)]})
    ground.settings = Settings(hooks=HookSettings(from_home=True))
    async with ground.session([], approval="never", provider_source=source) as s:
        ended = await s.prompt()
    assert ended.reason == "completed"
    assert ground.read("new.txt") == "new\n"
    moments = [json.loads(part) for part in ground.read("moments.jsonl").replace("}{", "}\n{").splitlines() if part]
    assert [one["hook_event_name"] for one in moments] == [
        *("SessionStart", "SubagentStart", "SubagentStop", "SubagentStop", "Stop"),
    ]
    child, parent = moments[1], moments[0]
    assert (child["agent_type"], child["session_id"]) == ("general", parent["session_id"])
    assert child["agent_id"] != parent["session_id"]
    assert "agent_id" not in parent
    texts = [block.text for m in requests[-2].messages for block in m.content if isinstance(block, TextBlock)]
    assert any("The file is called new.txt." in text for text in texts)
    assert any("Check it." in text for text in texts)


async def test_a_question_of_a_sub_agent_notifies_once(ground: Ground) -> None:
    async def source(_model: ModelRef) -> Provider:
        return ScriptedProvider(with_a_child, clock=ground.clock)

    define({"Notification": [hook("cat >> told.jsonl; echo >> told.jsonl", matcher="permission_prompt")]})
    ground.settings = Settings(hooks=HookSettings(from_home=True))
    async with ground.session([], provider_source=source) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = await s.rx.expect(ev.ApprovalRequested)
        await s.rx.expect(ev.HookRan)
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        await s.rx.expect(ev.TurnEnded)
    (told_once,) = map(json.loads, ground.read("told.jsonl").splitlines())
    assert "agent_id" not in told_once


async def test_a_hook_can_keep_the_conversation_from_being_summarised(ground: Ground) -> None:
    turns = [[Say(f"Answer {number}.")] for number in range(3)]
    async with with_hooks(ground, turns, PreCompact=hook("echo 'keep it' >&2; exit 2")) as s:
        for _ in turns:
            await s.prompt()
        s.submit(ops.Compact())
        notice = await s.rx.expect(ev.Notice)
    assert (notice.title, notice.hint) == ("A hook kept the conversation from being summarised.", "keep it")


async def test_the_end_of_the_session_is_told_once(ground: Ground) -> None:
    end = hook("cat > end.json")
    async with with_hooks(ground, [[Say("Hello.")]], SessionEnd=end) as s:
        await s.prompt()
    (run,) = runs(s)
    assert (run.moment, run.state) == ("SessionEnd", "completed")
    assert json.loads(ground.read("end.json"))["reason"] == "other"


async def test_a_stop_ends_the_hook_with_all_that_it_started(ground: Ground) -> None:
    hang = hook("echo $$ > pid; sleep 600 & wait")
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hang) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await is_written(ground.workspace / "pid")
        s.submit(ops.Interrupt())
        ended = await s.rx.expect(ev.TurnEnded)
        pid = int(ground.read("pid"))
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert ended.reason == "interrupted"
    assert runs(s)[0].state == "stopped"


async def test_hooks_of_one_call_are_one_entry(ground: Ground) -> None:
    async with with_hooks(
        ground, [[LOOK], [Say("Done.")]], PreToolUse=[hook("true"), hook("true # 2")], PostToolUse=hook("true")
    ) as s:
        await s.prompt()
        (entry,) = (one for one in s.session.transcript.entries if isinstance(one, HookEntry))
    assert [run.moment for run in entry.runs] == ["PreToolUse", "PreToolUse", "PostToolUse"]
    assert entry.telling is None


async def test_an_asynchronous_hook_is_not_waited_for_and_decides_nothing(ground: Ground) -> None:
    wait = hook(f"while ! test -e '{ground.workspace}/go'; do sleep 0.02; done; exit 2", **{"async": True})
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=wait) as s:
        await s.prompt()
        (result,) = s.results()
        assert not runs(s)
        ground.write("go", "")
        run = await s.rx.expect(ev.HookRan)
    assert not result.is_error
    assert (run.exit_code, run.decision) == (2, "")


async def test_a_condition_narrows_a_matcher(ground: Ground) -> None:
    deny = hook("exit 2", **{"if": "Bash(rm *)"})
    remove = Call("run_terminal_cmd", {"command": "true && rm -f gone.txt"})
    async with with_hooks(ground, [[LOOK], [remove], [Say("Done.")]], "never", PreToolUse=deny) as s:
        await s.prompt()
    assert len(runs(s)) == 1, "asked about the removal only"


async def test_no_key_of_ours_is_in_a_hooks_environment(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-" + "x" * 40)
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hook("env > env.txt")) as s:
        await s.prompt()
    assert "sk-ant" not in ground.read("env.txt")


async def test_without_the_setting_hooks_of_other_programs_do_not_run(ground: Ground) -> None:
    async with with_hooks(ground, [[LOOK], [Say("Done.")]], PreToolUse=hook("touch ran")) as s:
        pass
    ground.settings = Settings()
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not runs(s)
    assert not (ground.workspace / "ran").exists()


async def test_a_projects_hooks_do_not_run_before_trust(ground: Ground) -> None:
    ground.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook("touch ran")]}]}}))
    ground.settings = Settings(hooks=HookSettings(from_home=True))
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not runs(s)
    assert not (ground.workspace / "ran").exists()


async def test_what_a_hook_said_stands_in_the_session_when_it_is_opened_again(ground: Ground) -> None:
    async with with_hooks(ground, [[Say("Hello.")]], UserPromptSubmit=hook("echo be brief")) as s:
        await s.prompt()
    async with ground.session([[Say("Yes.")]], resume=s.id) as again:
        await again.prompt("more")
        assert told(again).count("be brief") == 2
        assert sum(isinstance(entry, HookEntry) for entry in again.session.transcript.entries) >= 1


async def test_a_sub_agents_calls_are_checked_and_its_start_and_end_are_told(ground: Ground) -> None:
    task = Call("task", {"description": "Look around", "prompt": "Look.", "role": "general"})
    keep = hook(f"cat >> '{ground.workspace}/told'; echo >> '{ground.workspace}/told'; exit 0")
    script = [[task], [LOOK], [Say("Found.")], [Say("Done.")]]
    async with with_hooks(
        ground, script, "never", SubagentStart=keep, SubagentStop=keep, PreToolUse=keep, Stop=keep
    ) as s:
        await s.prompt()
    told = [json.loads(line) for line in ground.read("told").splitlines() if line]
    assert [one["hook_event_name"] for one in told] == [
        *("PreToolUse", "SubagentStart", "PreToolUse", "SubagentStop", "Stop"),
    ]
    assert [one.get("agent_type") for one in told] == [None, "general", "general", "general", None]
    assert {one["session_id"] for one in told} == {s.id}
