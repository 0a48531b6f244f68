"""A command's card shows the end of its coloured output, live."""

import pytest
from PySide6.QtGui import QImage

from desktop_agent.core.protocol.events import ToolOutputDelta
from desktop_agent.core.protocol.model import Denied, ToolResult
from desktop_agent.ui.chat.cards.tool_body import ToolBody
from desktop_agent.ui.chat.cards.tool_output import OutputExcerpt, first_lines, readable
from desktop_agent.ui.terminal.printed_text import MAX_LINE, ansi_colours
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import Stage, call, change, click, record

WORDS = "".join(f"word{number} " for number in range(200_000))


@pytest.mark.parametrize(
    ("text", "count", "excerpt"),
    [
        ("a\nb\nc\nd\n", 2, OutputExcerpt("a\nb", 2)),
        ("a\nb\n", 2, OutputExcerpt("a\nb", 0)),
        (f"short\n{WORDS}\n", 12, OutputExcerpt(f"short\n{WORDS[:MAX_LINE]}", 0, 1, len(WORDS) - MAX_LINE)),
        (
            "rm -rf /home\rok\r\n\x1b[1;32mgreen\x1b[0m\ttab\x00",
            12,
            OutputExcerpt("rm -rf /home\\x0dok\n\\x1b[1;32mgreen\\x1b[0m\ttab\\x00", 0),
        ),
    ],
    ids=["more lines", "all lines", "a line of a megabyte", "control characters as the model reads them"],
)
def test_the_first_lines_say_what_is_left_out(text: str, count: int, excerpt: OutputExcerpt) -> None:
    assert first_lines(text, count) == excerpt


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ('{"output": "printed", "metadata": {}}', "printed"),
        ('{"ok": false, "error": "no such file"}', "no such file"),
        ('{"path": ".", "entries": ["a", "b"], "total": 2}', "a\nb"),
        ('["a.py:1", "b.py:2"]', "a.py:1\nb.py:2"),
        ('{"a.py": 3, "b.py": 1}', "a.py: 3\nb.py: 1"),
        ('{"ok": true, "nested": {}}', '{"ok": true, "nested": {}}'),
        ("{not json", "{not json"),
        ("[1", "[1"),
        ('[NAME is kept back.]\n{"output": "printed", "metadata": {}}', "printed"),
        ('[NAME is kept back.]\n{"output": "", "metadata": {}}', ""),
        ("{}", ""),
        ("[]", ""),
        ('{"output": "", "metadata": {"exit_code": 0}}', ""),
        ('{"output": "", "metadata": {}, "note": "Ended."}', "Ended."),
    ],
)
def test_answers_in_json_are_shown_as_text(content: str, text: str) -> None:
    assert readable(content) == text


LINES = "".join(f"line {number}\n" for number in range(30))


def colours(image: QImage) -> set[str]:
    return {image.pixelColor(x, y).name().upper() for x in range(image.width()) for y in range(34, image.height())}


def test_what_it_prints_has_the_colours_it_was_given_and_is_found_and_copied_without(
    stage: Stage, theme: Theme
) -> None:
    printed = "\x1b[1;31m██\x1b[32m██\x1b[0m plain\n"
    stage.show(call("run_terminal_cmd", "ls", output=printed, result=ToolResult(content="{}")))
    assert stage.shown_text(0) == "████ plain"
    assert ansi_colours(theme.colours)[1] in colours(stage.widget(0).grab().toImage())
    found = record(stage.view.finder.found)
    stage.view.finder.find("████")
    stage.qtbot.waitUntil(lambda: found[-1:] == [(1, 1)])
    assert stage.view.selected.is_empty
    stage.view.selected.select_all()
    assert stage.view.selected.text() == "Run ls\n████ plain"


def test_colours_go_on_over_pieces_that_arrive_one_by_one(stage: Stage, theme: Theme) -> None:
    conversation = stage.talk()
    call_id = conversation.start_call("run_terminal_cmd", "make")
    for piece in ("\x1b[3", "2m", "██", "██\n", "████"):
        conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text=piece))
    assert stage.shown_text(1) == "████\u2028████"
    assert ansi_colours(theme.colours)[2] in colours(stage.widget(1).grab().toImage())


def test_overwritten_progress_is_shown_once(stage: Stage) -> None:
    conversation = stage.talk()
    call_id = conversation.start_call("run_terminal_cmd", "curl")
    for percent in range(0, 101, 10):
        conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text=f"\r{percent:3} %"))
    assert stage.shown_text(1) == "100 %"


def test_more_output_than_is_kept_still_shows_its_end(stage: Stage) -> None:
    conversation = stage.talk()
    call_id = conversation.start_call("run_terminal_cmd", "make")
    conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text="first\n"))
    conversation.happen(
        ToolOutputDelta(turn=1, call_id=call_id, text="x" * 99 + "\n"),
        *(ToolOutputDelta(turn=1, call_id=call_id, text=("y" * 99 + "\n") * 400) for _ in range(3)),
    )
    conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text="last\n"))
    assert stage.shown_text(1).endswith("\u2028last")


def test_a_command_that_changed_files_shows_its_output_and_offers_the_change(stage: Stage) -> None:
    stage.show(call("run_terminal_cmd", "fmt", output="1 file\n", changes=(change(),), result=ToolResult(content="{}")))
    assert stage.shown_text(0) == "1 file"
    assert "Show change ▸" in stage.buttons()


def test_it_is_read_anew_when_its_row_comes_back(stage: Stage) -> None:
    stage.show(call("run_terminal_cmd", "ls", output=LINES, result=ToolResult(content="{}")))
    shown = stage.shown_text(0)
    stage.row(0).forget()
    stage.widget(0).refresh()
    assert stage.shown_text(0) == shown


@pytest.mark.parametrize(
    ("content", "decision"), [('{"output": "", "metadata": {}}', None), ('{"error": "denied"}', Denied())]
)
def test_a_command_that_printed_nothing_or_was_not_allowed_has_nothing_to_unfold(
    stage: Stage, content: str, decision: Denied | None
) -> None:
    result = ToolResult(content=content, is_error=decision is not None, metadata={"exit_code": 0})
    stage.show(call("run_terminal_cmd", "true", result=result, decision=decision))
    assert stage.shown_text(0) == ""
    assert not stage.widget(0).is_column_shown


def test_a_background_command_says_where_it_is_seen_instead_of_what_the_model_is_told(stage: Stage) -> None:
    content = '{"output": "background command dispatched\\njob_id: job-1\\npid: 7", "metadata": {}}'
    stage.show(call("run_terminal_cmd", "serve", result=ToolResult(content=content, metadata={"job_id": "job-1"})))
    assert stage.shown_text(0) == "Started in the background. The list of background work shows it."


@pytest.mark.parametrize("name", ["run_terminal_cmd", "read_file"])
def test_a_card_says_how_far_a_line_goes_on_and_leads_to_all_of_it(stage: Stage, name: str) -> None:
    line = "word " * 400_000
    stage.show(call(name, "x", result=ToolResult(content=line)))
    stage.row(0).is_unfolded = True
    stage.widget(0).refresh()
    stage.view.row_layout.row_resized(stage.row(0))
    assert stage.shown_text(0) == line[:500]
    bar = stage.widget(0).findChildren(ToolBody)[0].bar()
    assert bar is not None
    assert "1 line continues for another 1\N{NARROW NO-BREAK SPACE}999\N{NARROW NO-BREAK SPACE}" in bar.text
    wanted = record(stage.view.entry_actions.output_requested)
    click(stage.button("Show all output"))
    assert wanted == [(stage.row(0).entry,)]
