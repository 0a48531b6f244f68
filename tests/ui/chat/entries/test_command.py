"""A slash command in the transcript: the line, and what it said."""

from datetime import UTC, datetime

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.core.slash.declarations import bullets, code, fenced
from desktop_agent.ui.chat.entries.command import CommandWidget
from desktop_agent.ui.chat.search.search import Search
from desktop_agent.ui.chat.transcript.copying import copied_row
from desktop_agent.ui.chat.transcript.row import EntryRow
from tests.ui.chat.stage import Stage

HOSTILE = "`` <b>x</b> ![i](http://evil.example/x.png) [a](javascript:x)\n# not a heading ```"


def command(text: str, output: str, *, is_error: bool = False) -> CommandRun:
    return CommandRun(text=text, output=output, is_error=is_error, at=datetime(2026, 11, 22, tzinfo=UTC))


def test_what_it_said_is_markdown_below_the_line(stage: Stage) -> None:
    stage.show(command("/status", bullets(["Tokens: 1", "Active pins: none"])))
    widget = stage.widget(0)
    assert isinstance(widget, CommandWidget)
    assert stage.shown_text(0) == "Tokens: 1\nActive pins: none"
    assert widget.column_origin.y() > 0
    assert widget.accessibleName().startswith("Command /status: ")


def test_an_error_is_in_the_colour_of_errors_and_said_as_one(stage: Stage) -> None:
    stage.show(command("/statsu", "There is no command.", is_error=True), command("/status", "fine"))
    wrong, right = stage.widget(0), stage.widget(1)
    assert "failed" in wrong.accessibleName()
    assert wrong.grab().toImage() != right.grab().toImage()
    assert wrong.styles.colour("danger_text").name() in _colours(wrong)
    assert right.styles.colour("danger_text").name() not in _colours(right)


def test_words_of_others_are_shown_as_they_are(stage: Stage) -> None:
    stage.show(command("/pin add x", f"Pinned {code(HOSTILE)}\n\n{fenced(HOSTILE, 'diff')}"))
    widget = stage.widget(0)
    assert " ".join(HOSTILE.split()) in stage.shown_text(0)
    assert widget.column.links() == []


def test_a_long_command_is_wrapped(stage: Stage) -> None:
    stage.show(command("/pin add " + "word " * 200, "x"), command("/x", "x"))
    assert stage.widget(0).entry_height() > stage.widget(1).entry_height() + 60


def test_copying_gives_the_line_and_what_it_said() -> None:
    assert copied_row(EntryRow(command("/x", "**y**"), 0)) == "/x\n**y**"


def test_both_are_found() -> None:
    rows = [EntryRow(command("/pin add zebra", "Pinned"), 0), EntryRow(command("/status", "one `zebra`"), 1)]
    search = Search("zebra")
    for row in rows:
        list(search.read_row(row))
    assert search.total == 2


def _colours(widget: CommandWidget | object) -> set[str]:
    assert isinstance(widget, CommandWidget)
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(4) for y in range(image.height())}
