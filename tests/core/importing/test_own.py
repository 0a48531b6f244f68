"""A session that was exported can be imported, and brings no permission with it."""

import json

from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import OpaqueBlock, RedactedThinkingBlock, TextBlock, ToolResult, ToolUseBlock
from desktop_agent.core.transcript import TextEntry, ToolEntry, replay
from tests.core.export.conftest import MODEL, Written
from tests.core.importing.conftest import Importing
from tests.core.importing.test_samples import check_imported
from tests.core.samples import SAMPLE_EVENTS
from tests.pictures import png


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
        "changes_undone", "changes_redone", "queued",
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
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.MessageDone(
            turn=1, message_id="m", model=MODEL, content=(TextBlock(text="I look."),), stop_reason="max_tokens"
        ),
        ev.Steered(turn=1, prompt_id="p-2", text="and the tests"),
        ev.MessageDone(turn=1, message_id="n", model=MODEL, content=(TextBlock(text="Both."),), stop_reason="end_turn"),
        ev.TurnEnded(turn=1, reason="completed", requests=2, duration_s=1.0),
    )
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
