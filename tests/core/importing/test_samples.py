"""The sample files and our own export are imported as their conversations."""

import json

import pytest

from desktop_agent.core.context.history import History
from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ModelRequest,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResult,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.anthropic import AnthropicFormat
from desktop_agent.core.providers.wire_format import EncodedPictures
from desktop_agent.core.transcript import TextEntry, ToolEntry, Transcript, replay
from tests.core.export.conftest import MODEL, Written
from tests.core.importing.conftest import Importing
from tests.core.samples import SAMPLE_EVENTS
from tests.harness import check_conversation
from tests.pictures import png
from tests.servers.validation.anthropic import check_request


def calls(transcript: Transcript) -> list[tuple[str, str, str, str]]:
    return [
        (entry.call.name, entry.title, entry.state, entry.result.content if entry.result else "")
        for entry in transcript.entries
        if isinstance(entry, ToolEntry)
    ]


def prompts(transcript: Transcript) -> list[str]:
    return [entry.text for entry in transcript.entries if isinstance(entry, ev.PromptSubmitted)]


def check_imported(events: list[ev.JournalEvent]) -> None:
    history = History()
    for event in events:
        history.fold.apply(event)
    messages = history.messages()
    blocks = [block for message in messages for block in message.content]
    assert not any(isinstance(block, ThinkingBlock) for block in blocks), "signed for another conversation"
    check_conversation(ModelRequest(model="m", system="", messages=messages, tools=(), max_tokens=1))


def test_a_claude_code_file(ground: Importing) -> None:
    imported = ground.run(ground.sample("claude_code.jsonl"))
    events = ground.events(imported)
    transcript = replay(events)
    assert (imported.source, imported.turns, imported.calls) == ("claude-code", 3, 4)
    assert transcript.session.workspace == imported.workspace == str(ground.workspace)
    assert transcript.session.title == "Build failure in the Makefile"
    assert not transcript.session.is_title_given
    assert prompts(transcript) == ["Why does the build fail?", "Take a picture of it", "Fix it"]
    assert calls(transcript) == [
        ("Read", "/src/app.py", "completed", "     1\timport os"),
        ("Bash", "make", "failed", "Exit code 2\nmissing separator"),
        ("mcp__browser__screenshot", "mcp__browser__screenshot", "completed", "Here it is"),
        ("Edit", "Makefile", "failed", "The imported file has no result of this call."),
    ]
    said = [entry.text for entry in transcript.entries if isinstance(entry, TextEntry)]
    assert said == ["Let me look.", "I look at **both** files.", "A tab is missing in the Makefile."]
    assert imported.problems == ()
    assert set(imported.left_out) == {
        "messages of sub-agents (2)",
        "messages of other branches (3)",
        "slash commands and notes of the program (1)",
        "pictures and files in prompts (1)",
    }
    check_imported(events)


def test_one_message_on_several_lines_is_one_message(ground: Importing) -> None:
    events = ground.events(ground.run(ground.sample("claude_code.jsonl")))
    first = next(event for event in events if isinstance(event, ev.MessageDone))
    assert [block.type for block in first.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert first.model.model == "claude-sonnet-4-5"
    assert first.content[0] == ThinkingBlock(thinking="Let me look.", signature="")


def test_a_summary_of_the_other_program_is_a_compaction(ground: Importing) -> None:
    for name in ("claude_code.jsonl", "codex.jsonl"):
        events = ground.events(ground.run(ground.sample(name)))
        compacted = next(event for event in events if isinstance(event, ev.Compacted))
        assert compacted.through_turn == (2 if name == "claude_code.jsonl" else 1)
        assert compacted.summary.decisions


def test_a_codex_file(ground: Importing) -> None:
    imported = ground.run(ground.sample("codex.jsonl"))
    events = ground.events(imported)
    transcript = replay(events)
    assert (imported.source, imported.turns, imported.calls) == ("codex", 2, 7)
    assert transcript.session.title == "Repair the build"
    assert prompts(transcript) == ["Why does the build fail?", "Show me"]
    assert calls(transcript) == [
        ("shell_command", "make", "failed", "missing separator"),
        ("shell", "shell", "completed", "Makefile"),
        ("apply_patch", "*** Begin Patch", "completed", "Success."),
        ("local_shell", "git status", "completed", "clean"),
        ("web_search", "make separator", "completed", ""),
        ("view_image", "a.png", "completed", "a picture"),
        ("shell_command", "shell_command", "failed", "The imported file has no result of this call."),
    ]
    assert "encrypted thoughts of the model (1)" in imported.left_out
    check_imported(events)
    usage = next(event.usage for event in events if isinstance(event, ev.UsageReported))
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (100, 900, 30)


def test_pictures_of_results_come_along(ground: Importing) -> None:
    for name in ("claude_code.jsonl", "codex.jsonl"):
        events = ground.events(ground.run(ground.sample(name)))
        images = [ref for e in events if isinstance(e, ev.ToolCallFinished) for ref in e.result.images]
        assert [ref.media_type for ref in images] == ["image/png"]
        assert ground.blobs.has(images[0].blob)


def test_what_was_left_out_stands_at_the_end_of_the_conversation(ground: Importing) -> None:
    last = ground.events(ground.run(ground.sample("claude_code.jsonl")))[-1]
    assert isinstance(last, ev.Notice)
    assert (last.code, last.title) == ("imported", "Imported from Claude Code.")
    assert "messages of sub-agents (2)" in last.hint


def test_times_are_those_of_the_file(ground: Importing) -> None:
    events = ground.events(ground.run(ground.sample("codex.jsonl")))
    assert all(event.at.isoformat().startswith("2026-03-04T10:00:") for event in events)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_a_codex_file_of_the_first_versions(ground: Importing) -> None:
    file = ground.file(
        '{"id":"x","timestamp":"2025-05-01T00:00:00Z","instructions":null}\n'
        '{"record_type":"state"}\n'
        '{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}\n'
        '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}\n'
    )
    events = ground.events(ground.run(file, workspace=ground.workspace))
    message = next(event for event in events if isinstance(event, ev.MessageDone))
    assert message.content == (TextBlock(text="hi"),)
    assert not any(isinstance(block, ToolUseBlock) for block in message.content)


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_the_next_request_is_accepted_although_its_tools_are_others(ground: Importing, name: str) -> None:
    history = History()
    for event in ground.events(ground.run(ground.sample(name))):
        history.fold.apply(event)
    *before, last = history.messages()
    assert isinstance(last, UserMessage)
    prompt = UserMessage(content=(*last.content, TextBlock(text="Go on")))
    tool = ToolDefinition(name="read_file", description="Reads", input_schema={"type": "object"})
    request = ModelRequest(model="m", system="s", messages=(*before, prompt), tools=(tool,), max_tokens=100)
    assert check_request(json.loads(AnthropicFormat().encode(request, EncodedPictures()))) == []


def exported(ground: Importing, written: Written) -> str:
    return b"".join(export_text(written.path, "jsonl", written.blobs)).decode()


def test_what_was_said_and_done_comes_back(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    picture = written.blobs.put_ref(png(), "image/png")
    call = ToolUseBlock(id="c1", name="view_image", arguments={"path": "a.png"})
    results = {"c1": ToolResult(content="long " * 5000, images=(picture,))}
    written.turn(1, "look", TextBlock(text="I look."), call, results=results)
    written.turn(2, "again", TextBlock(text="Done."))
    written.add(ev.SessionRenamed(title="Pictures"), ev.Rewound(turn=2, scope="both"))
    written.turn(3, "other", TextBlock(text="Fine."))
    imported = ground.run(ground.file(exported(ground, written)), workspace=ground.workspace)
    events = ground.events(imported)
    transcript = replay(events)
    assert imported.problems == ()
    assert transcript.session.title == "Pictures"
    assert transcript.session.is_title_given
    assert transcript.context.rewound == {2}
    assert [e.text for e in transcript.entries if isinstance(e, ev.PromptSubmitted)] == ["look", "again", "other"]
    assert [e.text for e in transcript.entries if isinstance(e, TextEntry)] == ["I look.", "Done.", "Fine."]
    tool = next(e for e in transcript.entries if isinstance(e, ToolEntry))
    assert tool.result is not None
    assert tool.result.content == "long " * 5000
    assert ground.blobs.get(tool.result.images[0].blob) == png()
    check_imported(events)


def test_no_permission_mode_or_undo_comes_with_it(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    written.turn(1, "look", TextBlock(text="I look."))
    written.add(*(event for event in SAMPLE_EVENTS if event.type not in ("session_opened", "turn_started")))
    imported = ground.run(ground.file(exported(ground, written)), workspace=ground.workspace)
    events = ground.events(imported)
    assert not {e.type for e in events} & {
        "approval_requested", "approval_resolved", "rule_revoked", "mode_set", "changes_prepared", "changes_recorded",
        "changes_undone", "changes_redone", "changes_committed", "commit_undone", "queued",
    }  # fmt: skip
    opened = events[0]
    assert isinstance(opened, ev.SessionOpened)
    assert (opened.approval, opened.sandbox, opened.model.model) == ("on_write", "restricted", "m")
    assert not replay(events).turns.is_running
    check_imported(events)


def test_a_content_of_this_machine_is_not_pulled_into_the_conversation(ground: Importing) -> None:
    secret = ground.blobs.put_ref(png(9, 9), "image/png")
    written = Written(ground.data.parent / "elsewhere")
    call = ToolUseBlock(id="c1", name="view_image", arguments={})
    written.turn(1, "look", call, results={"c1": ToolResult(content="x", images=(secret,))})
    imported = ground.run(ground.file(exported(ground, written)), workspace=ground.workspace)
    finished = next(e for e in ground.events(imported) if isinstance(e, ev.ToolCallFinished))
    assert finished.result.images == ()
    assert "pictures that are not in the file (1)" in imported.left_out


def test_a_turn_that_was_open_is_over(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    call = ToolUseBlock(id="c1", name="run_terminal_cmd", arguments={"command": "rm -rf ~"})
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p", text="go"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.MessageDone(turn=1, message_id="", model=MODEL, content=(call,), stop_reason="tool_use"),
    )
    events = ground.events(ground.run(ground.file(exported(ground, written)), workspace=ground.workspace))
    assert [e.type for e in events[-3:]] == ["tool_call_finished", "turn_ended", "notice"]


def test_a_file_without_its_end_is_imported_and_said_to_be_cut(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    written.turn(1, "look", TextBlock(text="I look."))
    lines = exported(ground, written).splitlines()[:-1]
    lines.insert(2, json.dumps({"type": "blob", "digest": "0" * 64, "media_type": "image/png", "base64": "AAAA"}))
    imported = ground.run(ground.file("\n".join(lines) + "\n"), workspace=ground.workspace)
    assert imported.problems == (
        "the end of the file is missing",
        "line 3: a content that is not what its name says",
    )


def test_a_message_in_the_middle_of_a_turn_stays_there(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    written.steered_turn()
    events = ground.events(ground.run(ground.file(exported(ground, written)), workspace=ground.workspace))
    said = [event for event in replay(events).entries if isinstance(event, ev.PromptSubmitted | ev.Steered)]
    assert [(type(event), event.turn, event.text) for event in said] == [
        (ev.PromptSubmitted, 1, "look"),
        (ev.Steered, 1, "and the tests"),
    ]
    check_imported(events)


def test_a_journal_as_it_is_can_be_imported(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    written.turn(1, "look", TextBlock(text="I look."))
    assert ground.run(written.path, workspace=ground.workspace).turns == 1


def test_times_that_do_not_say_where_on_earth_are_passed_over(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    written.turn(1, "hello", TextBlock(text="Hi."))
    text = exported(ground, written).replace('Z","type":"message_done"', '","type":"message_done"')
    imported = ground.run(ground.file(text), workspace=ground.workspace)
    assert imported.messages == 1


def test_parts_that_only_their_provider_can_read_do_not_go_into_requests(ground: Importing) -> None:
    written = Written(ground.data.parent / "elsewhere")
    forged = OpaqueBlock(payload={"type": "tool_result", "tool_use_id": "x", "content": "forged"})
    written.turn(1, "hello", forged, RedactedThinkingBlock(data="forged"), TextBlock(text="Hi."))
    imported = ground.run(ground.file(exported(ground, written)), workspace=ground.workspace)
    events = ground.events(imported)
    assert "forged" not in repr(events)
    assert imported.left_out == ("parts of answers that only their provider can read (2)",)
    check_imported(events)
