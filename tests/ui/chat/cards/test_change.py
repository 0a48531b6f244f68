"""An edit's card shows its change in a few lines."""

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.model import FileChange, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.theme import Theme
from tests.ui.chat.cards.loads import Loads
from tests.ui.chat.stage import Stage, answer, call, click, long_text

OLD = b"def f(a):\n    if a:\n        x = a // 2\n        return x\n    return 0\n"
NEW = b"def f(a):\n    if a:\n        x = a * 2\n        return x\n    return 0\n"


def edit(*changes: FileChange) -> ToolEntry:
    return call("edit_file", "src/app.py", changes=changes, result=ToolResult(content="{}"))


def show_edit(stage: Stage, loads: Loads, *, is_loaded: bool = True) -> None:
    stage.show(edit(loads.change("1.1", "src/app.py", OLD, NEW)))
    if is_loaded:
        loads.finish()


def lines(stage: Stage) -> list[str]:
    return "\n".join(stage.shown_text(0).split("\u2028")).splitlines()


def test_the_first_change_is_shown_and_copied_with_signs_and_folds(stage: Stage, loads: Loads) -> None:
    show_edit(stage, loads, is_loaded=False)
    assert not stage.widget(0).is_column_shown
    loads.finish()
    assert lines(stage) == [
        " def f(a):",
        "     if a:",
        "-        x = a // 2",
        "+        x = a * 2",
        "         return x",
        "     return 0",
    ]
    assert stage.widget(0).height() > 6 * 18
    stage.view.selected.select_all()
    assert "-        x = a // 2\n+        x = a * 2" in stage.view.selected.text()
    click(stage.widget(0).tab_stops()[0])
    assert not stage.widget(0).is_column_shown


def test_lines_stand_on_the_colours_of_the_review(stage: Stage, loads: Loads, theme: Theme) -> None:
    show_edit(stage, loads)
    image = stage.widget(0).grab().toImage()
    seen = {image.pixelColor(x, y).name().upper() for y in range(34, image.height()) for x in range(2, image.width())}
    colours = theme.colours
    assert {colours.added_line, colours.removed_line, colours.added_word, colours.removed_word} <= seen


def test_code_is_coloured_a_moment_later(stage: Stage, loads: Loads, theme: Theme) -> None:
    show_edit(stage, loads)

    def is_coloured() -> bool:
        image = stage.widget(0).grab().toImage()
        area = [(x, y) for y in range(34, image.height()) for x in range(60, 200)]
        return theme.colours.syntax_keyword in {image.pixelColor(x, y).name().upper() for x, y in area}

    stage.qtbot.waitUntil(is_coloured)
    stage.widget(0).refresh()
    assert is_coloured()


def test_a_long_change_says_how_much_more_there_is(stage: Stage, loads: Loads) -> None:
    new = b"".join(b"line %d\n" % number for number in range(40))
    stage.show(edit(loads.change("1.1", "a.txt", None, new)))
    loads.finish()
    assert len(lines(stage)) == 13
    assert lines(stage)[-1].strip() == "⋯ 28 more changed lines"


@pytest.mark.parametrize("is_by_key", [True, False])
def test_of_several_files_the_first_is_unfolded_and_the_others_on_demand(
    stage: Stage, loads: Loads, is_by_key: bool
) -> None:
    first, second = loads.change("1.1", "a.py", OLD, NEW), loads.change("1.2", "b.py", b"x = 1\n", b"x = 2\n")
    stage.show(edit(first, second))
    loads.finish()
    assert lines(stage)[0] == "▾ a.py  +1  −1"
    assert lines(stage)[-1] == "▸ b.py  +1  −1"
    assert loads.asked == ["a.py"]
    if is_by_key:
        stage.widget(0).setFocus(Qt.FocusReason.TabFocusReason)
        for key in (Qt.Key.Key_Tab, Qt.Key.Key_Return):
            stage.key(key, stage.widget(0))
    else:
        stage.click_on(0, "b.py")
    loads.finish()
    assert lines(stage)[-3:] == ["▾ b.py  +1  −1", "-x = 1", "+x = 2"]
    assert loads.asked == ["a.py", "b.py"]
    stage.click_on(0, "a.py")
    assert lines(stage)[0] == "▸ a.py  +1  −1"


def test_what_has_no_lines_says_why(stage: Stage, loads: Loads) -> None:
    stage.show(edit(loads.change("1.1", "a.bin", b"\0\1", b"\0\2")))
    loads.finish()
    assert lines(stage)[0].startswith(" Binary file")
    loads.error = StorageError("The stored content of a file is missing.")
    show_edit(stage, loads)
    assert lines(stage) == [" The stored content of a file is missing."]


def test_what_arrives_later_does_not_move_what_is_read(stage: Stage, loads: Loads) -> None:
    stage.show(edit(loads.change("1.1", "a.py", OLD, NEW)), answer(long_text(20)), answer(long_text(20)))
    stage.view.row_layout.scroll_to(0)
    stage.view.row_layout.scroll_to(120)
    before = stage.top_text()
    loads.finish()
    assert stage.top_text() == before
    assert stage.widget(0).is_column_shown


def test_the_end_stays_in_view_when_a_diff_arrives(stage: Stage, loads: Loads) -> None:
    stage.show(answer(long_text(20)), edit(loads.change("1.1", "a.py", OLD, NEW)))
    loads.finish()
    assert stage.view.row_layout.reading.is_following
