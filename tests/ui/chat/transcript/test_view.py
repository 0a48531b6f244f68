"""The transcript view follows the transcript and the user's scrolling, at any length."""

import random
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.transcript import RETRYING, Entry, NoticeEntry, TextEntry, ToolEntry, Transcript
from desktop_agent.ui.theme import Space, TextSizes, Theme
from tests.ui.chat.stage import (
    Conversation,
    Stage,
    answer,
    call,
    change,
    click,
    long_text,
    prompt,
    question,
    record,
    thought,
)


def drawn(stage: Stage) -> list[tuple[type[Entry] | str, str, int]]:
    return [
        (
            row.entry.kind if isinstance(row.entry, TextEntry) else type(row.entry),
            stage.shown_text(row.index),
            stage.view.rows.heights[row.index],
        )
        for row in sorted(stage.view.row_layout.widgets.live, key=lambda row: row.index)
    ]


class TestFollowingTheTranscript:
    def test_a_conversation_opens_at_its_end(self, stage: Stage) -> None:
        stage.show(prompt("first"), answer(long_text(40)), answer("the end"))
        assert stage.view.row_layout.reading.is_following
        bar = stage.view.verticalScrollBar()
        assert bar.value() == bar.maximum() > 0
        assert "the end" in stage.shown_text(-1)

    def test_patches_lead_to_the_same_view_as_a_reset(self, stage: Stage) -> None:
        conversation = stage.talk("do it")
        conversation.happen(ev.ThinkingDelta(turn=1, text="hm"))
        conversation.stream("# Title\n\nSome **text**.\n\n- one\n- two\n\n```py\nx = 1\n```\n")
        conversation.finish("# Title\n\nSome **text**.\n\n- one\n- two\n\n```py\nx = 1\n```\n", thinking="hm")
        first = conversation.start_call("run_terminal_cmd", "pytest -q")
        conversation.happen(ev.ToolOutputDelta(turn=1, call_id=first, text="....\n2 passed\n"))
        conversation.end_call(first, "....\n2 passed\n")
        conversation.happen(ev.Notice(level="warning", code="busy", title="Busy", hint="Wait."))
        conversation.end_turn("interrupted")
        stage.view.row_layout.flush()
        patched = drawn(stage)

        stage.view.show_transcript(conversation.transcript)

        assert drawn(stage) == patched
        entries = [ev.PromptSubmitted, "thinking", "text", ToolEntry, NoticeEntry, ev.TurnEnded]
        assert [kind for kind, _, _ in patched] == entries

    def test_many_events_between_two_frames_are_drawn_once_and_right(self, stage: Stage) -> None:
        conversation = stage.talk("one")
        conversation.stream("half an answ")
        conversation.happen(ev.Notice(level="warning", code=RETRYING, title="Trying again."))
        conversation.stream("a whole answer")
        stage.view.row_layout.flush()
        assert [kind for kind, _, _ in drawn(stage)] == [ev.PromptSubmitted, NoticeEntry, "text"]
        assert stage.shown_text(-1) == "a whole answer"
        conversation.finish("something else")
        stage.view.row_layout.flush()
        assert [kind for kind, _, _ in drawn(stage)] == [ev.PromptSubmitted, NoticeEntry, "text"]
        assert stage.shown_text(-1) == "something else", "an answer that comes again replaces the half one"

    def test_bursts_are_drawn_at_most_once_per_frame(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        conversation = stage.talk("one")
        stage.view.row_layout.flush()
        layouts: list[int] = []
        lay_out = stage.view.row_layout.lay_out
        monkeypatch.setattr(stage.view.row_layout, "lay_out", lambda: layouts.append(1) or lay_out())
        conversation.stream("word " * 100, size=5)
        assert len(layouts) <= 1
        stage.qtbot.waitUntil(lambda: stage.shown_text(-1).count("word") == 100)

    def test_nothing_is_drawn_while_the_view_is_hidden_and_all_of_it_after(self, stage: Stage) -> None:
        conversation = stage.talk("one")
        stage.window.hide()
        conversation.stream("said in the dark")
        stage.window.show()
        assert stage.shown_text(-1) == "said in the dark"

    def test_an_empty_conversation_invites(self, stage: Stage) -> None:
        stage.show()
        chosen = record(stage.view.entry_actions.example_chosen)
        stage.button("Find a bug").click()
        assert chosen == [("Find a bug and fix it, with a test",)]
        stage.show(prompt("hello"))
        assert not any(text.startswith("Find a bug") for text in stage.buttons())

    def test_a_long_example_is_shown_whole_in_a_narrow_conversation(self, stage: Stage) -> None:
        example = "Einer der Tests schlägt fehl. Finde heraus, warum, behebe es, und führe die Tests noch einmal aus."
        stage.show()
        stage.window.resize(360, 500)
        empty = stage.view.status.empty
        empty.set_examples((example,))
        (button,) = (each for each in empty.findChildren(QPushButton) if each.accessibleName() == example)
        assert button.text().replace("\n", " ") == example
        assert button.width() >= button.sizeHint().width()
        lines = button.fontMetrics().size(0, button.text()).height()
        assert button.height() >= lines + Space.S, "several lines keep their distance from the border"
        assert empty.rect().contains(button.geometry())
        chosen = record(stage.view.entry_actions.example_chosen)
        button.click()
        assert chosen == [(example,)]

    def test_what_the_agent_does_is_said_at_the_end_while_it_works(self, stage: Stage) -> None:
        def names() -> set[str]:
            return {child.accessibleName() for child in stage.view.findChildren(QWidget) if child.isVisible()}

        conversation = stage.talk()
        conversation.show(ev.ToolProgress(turn=1, call_id="c", name="edit_file", message="writing edit_file"))
        assert "Writing edit_file" in names()
        conversation.end_turn()
        stage.view.row_layout.flush()
        assert "Writing edit_file" not in names()


class TestStayingInPlace:
    def test_the_end_is_followed_while_text_streams(self, stage: Stage) -> None:
        conversation = stage.talk()
        for number in range(30):
            conversation.stream(long_text(1, f"part {number}") + "\n\n", size=40)
            stage.view.row_layout.flush()
            bar = stage.view.verticalScrollBar()
            assert bar.value() == bar.maximum()
        assert "Jump to latest ↓" not in stage.buttons()

    def test_scrolling_up_detaches_and_nothing_moves_while_text_streams(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.stream(long_text(30), size=400)
        stage.view.row_layout.flush()
        stage.wheel(2)
        before, picture = stage.top_text(), stage.view.viewport().grab(stage.view.viewport().rect()).toImage()

        conversation.stream("\n\n" + long_text(10, "more"), size=100)
        stage.view.row_layout.flush()

        assert not stage.view.row_layout.reading.is_following
        assert stage.top_text() == before
        area = stage.view.viewport().rect().adjusted(0, 0, 0, -200)
        assert stage.view.viewport().grab(area).toImage() == picture.copy(area)
        assert "Jump to latest ↓" in stage.buttons()

    @pytest.mark.parametrize("is_by_button", [True, False])
    def test_the_jump_button_or_scrolling_to_the_end_follows_again(self, stage: Stage, is_by_button: bool) -> None:
        stage.show(answer(long_text(40)))
        stage.wheel(5)
        assert not stage.view.row_layout.reading.is_following
        stage.button("Jump to latest").click() if is_by_button else stage.wheel(-6)
        assert stage.view.row_layout.reading.is_following
        assert "Jump to latest ↓" not in stage.buttons()

    def test_no_button_lies_over_text_when_the_end_is_near_or_something_is_searched_for(self, stage: Stage) -> None:
        stage.show(answer(long_text(40)))
        bar = stage.view.verticalScrollBar()
        bar.setValue(bar.maximum() - 20)
        assert "Jump to latest ↓" not in stage.buttons()
        bar.setValue(0)
        assert "Jump to latest ↓" in stage.buttons()
        stage.view.finder.find("word")
        assert "Jump to latest ↓" not in stage.buttons()
        bar.setValue(0)
        stage.view.finder.clear()
        assert "Jump to latest ↓" in stage.buttons()

    def test_home_and_end_reach_the_ends(self, stage: Stage) -> None:
        stage.show(prompt("the very first"), *(answer(long_text(5)) for _ in range(40)), answer("the very last"))
        for key in (Qt.Key.Key_PageUp, Qt.Key.Key_Up, Qt.Key.Key_Home):
            stage.key(Qt.Key.Key_End)
            stage.key(key)
            assert not stage.view.row_layout.reading.is_following
        assert stage.view.verticalScrollBar().value() == 0
        assert stage.shown_text(0) == "the very first"
        stage.key(Qt.Key.Key_End)
        assert stage.shown_text(-1) == "the very last"
        assert stage.view.row_layout.reading.is_following

    def test_what_is_read_stays_while_estimates_above_become_exact(self, stage: Stage) -> None:
        entries: list[Entry] = []
        chance = random.Random(3)
        for number in range(60):
            entries.append(prompt(f"prompt {number}"))
            entries.append(answer(long_text(chance.randrange(1, 9), f"answer {number}") + "\n\n- a\n- b\n- c"))
        stage.show(*entries)
        for _ in range(25):
            row, block, distance = stage.top_text()
            edge = stage.view.row_layout.top_edge
            stage.wheel(1)
            moved = edge - stage.view.row_layout.top_edge
            widget = stage.row(row).widget
            if widget is not None:
                inside = widget.column_origin.y() + widget.column.top(block) + distance
                y = stage.view.row_layout.reading.row_top(stage.row(row)) + inside
                # The block at the top edge moved down by exactly the scrolled distance.
                assert y - stage.view.row_layout.top_edge == 60 or moved == 0

    def test_a_narrower_view_keeps_what_is_read(self, stage: Stage) -> None:
        stage.show(*(answer(long_text(3, f"answer {number}")) for number in range(40)))
        stage.view.row_layout.scroll_to(stage.view.row_layout.reading.row_top(stage.row(20)))
        row, block, _ = stage.top_text()
        stage.window.resize(430, 600)
        QApplication.processEvents()
        assert stage.widget(row).width() <= 430
        assert stage.top_text()[:2] == (row, block)

    def test_unfolding_at_the_end_moves_nothing_above(self, stage: Stage) -> None:
        stage.show(answer(long_text(20)), thought("why " * 600))
        top = stage.widget(1).y()
        click(stage.widget(1).findChildren(QWidget)[0])
        assert stage.widget(1).y() == top
        assert not stage.view.row_layout.reading.is_following


class TestVirtualisation:
    def test_only_what_is_near_the_eye_has_widgets_and_layouts(self, stage: Stage) -> None:
        entries: list[Entry] = [
            entry for number in range(1000) for entry in (prompt(f"prompt {number}"), answer(long_text(3)))
        ]
        stage.show(*entries)
        bar = stage.view.verticalScrollBar()
        positions = [bar.maximum(), bar.maximum() // 2, 0, bar.maximum() // 3]
        for position in positions:
            bar.setValue(position)
            for _ in range(10):
                stage.key(Qt.Key.Key_PageUp)
        live = stage.view.row_layout.widgets.live
        assert 2 <= len(live) <= 40
        assert sum(row.widget.column.laid_out for row in live if row.widget is not None) <= 150
        stage.qtbot.waitUntil(lambda: len(stage.view.viewport().children()) <= 60)
        assert sum(stage.view.rows[index].stream is not None for index in range(len(entries))) <= 110

    def test_a_message_of_a_megabyte_is_laid_out_only_where_it_is_seen(self, stage: Stage) -> None:
        stage.show(answer(long_text(4_000)))
        assert stage.widget(0).column.laid_out <= 60
        stage.view.row_layout.scroll_to(0)
        for _ in range(10):
            stage.key(Qt.Key.Key_PageDown)
        assert stage.widget(0).column.laid_out <= 60

    def test_a_question_and_a_focused_card_stay_alive_out_of_sight(self, stage: Stage) -> None:
        waiting = call("run_terminal_cmd", "git push", approval=question())
        stage.show(waiting, call(call_id="c2"), *(answer(long_text(6)) for _ in range(30)), is_running=True)
        stage.view.row_layout.scroll_to(0)
        widget, line = stage.widget(0), stage.widget(1).findChildren(QWidget)[0]
        line.setFocus()
        stage.view.row_layout.scroll_to_bottom()
        assert stage.row(0).widget is widget
        assert line.hasFocus()

    def test_what_was_unfolded_is_unfolded_when_it_comes_back(self, stage: Stage) -> None:
        stage.show(thought("deep thought"), *(answer(long_text(6)) for _ in range(30)))
        stage.view.row_layout.scroll_to(0)
        click(stage.widget(0).findChildren(QWidget)[0])
        stage.view.row_layout.scroll_to_bottom()
        assert stage.row(0).widget is None
        stage.view.row_layout.scroll_to(0)
        assert stage.widget(0).is_column_shown
        assert stage.shown_text(0) == "deep thought"

    def test_an_answer_grows_out_of_sight(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.stream(long_text(40), size=500)
        stage.view.row_layout.flush()
        stage.view.row_layout.scroll_to(0)
        conversation.stream("\n\n" + long_text(200, "late"), size=500)
        stage.view.row_layout.flush()
        stage.view.row_layout.scroll_to_bottom()
        stage.qtbot.waitUntil(lambda: "late 199" in stage.shown_text(1))


class TestSelecting:
    @pytest.mark.parametrize(
        ("start", "end", "copied"),
        [
            ((0, "question"), (2, "Third"), "question\n\nFirst **bold** `code` words.\n\nSecond.\n\nThird"),
            ((1, "bold"), (1, "code"), "bold code"),
            ((3, "first"), (3, "2"), "first = 1\nsecond = 2"),
        ],
        ids=["across entries as source", "within a paragraph as shown", "lines of code as lines"],
    )
    def test_a_drag_selects_what_is_copied_in_both_directions(
        self, stage: Stage, start: tuple[int, str], end: tuple[int, str], copied: str
    ) -> None:
        code = answer("```py\nfirst = 1\nsecond = 2\n```")
        stage.show(
            prompt("the question"), answer("First **bold** `code` words.\n\nSecond."), answer("Third one."), code
        )
        ends = stage.point_of(*start), stage.point_of(*end, at_end=True)
        for first, last in (ends, ends[::-1]):
            stage.drag(first, last)
            stage.view.selected.copy()
            assert QGuiApplication.clipboard().text() == copied

    def test_everything_can_be_selected_and_copied(self, stage: Stage) -> None:
        many = [answer(f"Answer *{number}*.") for number in range(300)]
        stage.show(prompt("hello"), *many, call("run_terminal_cmd", "ls", output="a\nb\n"))
        stage.key(QKeySequence.StandardKey.SelectAll)
        stage.key(QKeySequence.StandardKey.Copy)
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("hello\n\nAnswer *0*.\n\nAnswer *1*.")
        assert copied.endswith("Answer *299*.\n\nRun ls\na\nb")

    def test_a_double_click_selects_a_word_and_a_third_click_the_line(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(QApplication, "doubleClickInterval", lambda: 60_000)  # a slow machine is no slow hand
        stage.show(answer("one two-three four\nsecond line"))
        at = stage.point_of(0, "three")
        stage.double_click(at)
        assert stage.view.selected.text() == "three"
        stage.press(at)
        stage.release(at)
        assert stage.view.selected.text() == "one two-three four"

    def test_shift_click_extends(self, stage: Stage) -> None:
        stage.show(answer("alpha beta gamma"), answer("delta"))
        stage.click_on(0, "beta")
        end = stage.point_of(1, "delta", at_end=True)
        stage.press(end, Qt.KeyboardModifier.ShiftModifier)
        stage.release(end)
        assert stage.view.selected.text() == "beta gamma\n\ndelta"

    def test_the_selection_is_drawn_until_escape_clears_it(self, stage: Stage, theme: Theme) -> None:
        stage.show(answer("alpha beta gamma"))
        stage.drag(stage.point_of(0, "alpha"), stage.point_of(0, "gamma", at_end=True))

        def is_drawn() -> bool:
            image = stage.widget(0).grab().toImage()
            colours = {image.pixelColor(x, y).name() for x in range(100) for y in range(20)}
            return theme.colours.accent.lower() in colours

        assert is_drawn()
        stage.key(Qt.Key.Key_Escape)
        assert stage.view.selected.text() == ""
        assert not is_drawn()

    def test_a_selection_survives_what_streams_behind_it(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.stream("alpha beta gamma\n\n")
        stage.view.row_layout.flush()
        stage.drag(stage.point_of(1, "beta"), stage.point_of(1, "gamma", at_end=True))
        conversation.stream("and much more text\n\n- with\n- lists")
        stage.view.row_layout.flush()
        assert stage.view.selected.text() == "beta gamma"

    def test_a_selection_of_what_is_no_more_is_dropped(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.stream("half an answer")
        stage.view.row_layout.flush()
        stage.drag(stage.point_of(1, "half"), stage.point_of(1, "answer"))
        conversation.show(ev.Notice(level="warning", code=RETRYING, title="Again."))
        assert stage.view.selected.text() == ""

    def test_drawing_beyond_the_edge_scrolls(self, stage: Stage) -> None:
        stage.show(*(answer(long_text(5, f"answer {number}")) for number in range(20)))
        start = QPoint(200, 300)
        edge = stage.view.row_layout.top_edge
        stage.press(start)
        stage.move(QPoint(200, -120), is_pressed=True)
        stage.qtbot.waitUntil(lambda: stage.view.row_layout.top_edge < edge - 200)
        stage.release(QPoint(200, -120))
        assert len(stage.view.selected.text()) > 500


class TestLinks:
    def test_a_click_opens_a_web_link_and_nothing_else(self, stage: Stage) -> None:
        stage.show(
            answer("See [the docs](https://example.org/a), [run](javascript:alert(1)), [files](file:///etc) plain")
        )
        opened = record(stage.view.entry_actions.link_activated)
        for word in ("run", "files", "plain", "docs"):
            assert opened == []
            stage.click_on(0, word)
        assert opened == [("https://example.org/a",)]
        stage.drag(stage.point_of(0, "docs"), stage.point_of(0, "docs", at_end=True))
        assert len(opened) == 1, "drawing over a link does not open it"

    def test_the_pointer_shows_what_is_under_it(self, stage: Stage) -> None:
        stage.show(answer("See [the docs](https://example.org/a) here."), call())
        shapes: list[Qt.CursorShape] = []
        for at in (stage.point_of(0, "docs"), stage.point_of(0, "here"), QPoint(300, 400)):
            stage.move(at)
            shapes.append(stage.view.viewport().cursor().shape())
        shape = Qt.CursorShape
        assert shapes == [shape.PointingHandCursor, shape.IBeamCursor, shape.ArrowCursor]

    def test_links_are_reached_and_opened_with_the_keyboard(self, stage: Stage) -> None:
        stage.show(answer("See [one](https://example.org/1) and [two](https://example.org/2)."))
        widget = stage.widget(0)
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        stage.key(Qt.Key.Key_Tab, widget)
        opened = record(stage.view.entry_actions.link_activated)
        stage.key(Qt.Key.Key_Return, widget)
        assert opened == [("https://example.org/2",)]


class TestFinding:
    def found(self, stage: Stage, act: Callable[[], object]) -> tuple[int, int]:
        results: list[tuple[int, int]] = []

        def note(position: int, total: int) -> None:
            results.append((position, total))

        stage.view.finder.found.connect(note)
        act()
        stage.qtbot.waitUntil(lambda: not stage.view.finder.is_reading)
        stage.view.finder.found.disconnect(note)
        return results[-1]

    def test_matches_are_counted_in_what_is_shown(self, stage: Stage) -> None:
        tool = call("run_terminal_cmd", "grep needle", output="one needle\n")
        said = answer("A **nee**dle? A `needle`. [x](https://needle.example)")
        stage.show(prompt("Needle"), said, thought("needle"), tool)
        assert self.found(stage, lambda: stage.view.finder.find("needle"))[1] == 6

    def test_a_match_in_folded_text_is_unfolded_brought_into_view_and_marked(self, stage: Stage, theme: Theme) -> None:
        stage.show(thought("needle"), *(answer(long_text(5)) for _ in range(30)))
        self.found(stage, lambda: stage.view.finder.find("needle"))
        widget = stage.widget(0)
        assert widget.is_column_shown
        assert 0 <= widget.y() < stage.view.viewport().height()
        image = widget.grab().toImage()
        colours = {image.pixelColor(x, y).name() for x in range(80) for y in range(image.height())}
        assert theme.colours.found_current.lower() in colours

    def test_what_arrives_later_is_found(self, stage: Stage) -> None:
        conversation = stage.talk()
        self.found(stage, lambda: stage.view.finder.find("needle"))
        conversation.stream("here is a needle")
        assert self.found(stage, stage.view.row_layout.flush)[1] == 1

    def test_searching_leaves_no_layouts_behind(self, stage: Stage) -> None:
        stage.show(*(answer(f"{long_text(4)} needle") for _ in range(200)))
        assert self.found(stage, lambda: stage.view.finder.find("needle"))[1] == 200
        assert sum(stage.row(index).stream is not None for index in range(200)) < 40


class TestReachingEverything:
    def test_tab_goes_through_the_entries_in_order(self, stage: Stage) -> None:
        stage.show(
            call(title="first", call_id="a", result=ToolResult(content="x")),
            answer("```py\nx\n```"),
            call("edit_file", "second", call_id="b", changes=(change(),), result=ToolResult(content="ok")),
        )
        stage.view.setFocus()
        names: list[str] = []
        for _ in range(6):
            focused = stage.window.focusWidget()
            stage.key(Qt.Key.Key_Tab, focused)
            names.append(stage.window.focusWidget().accessibleName())
        assert names[0].startswith("Read first")
        assert names[1].startswith("Answer:")
        assert names[2:4] == ["Apply code to a file", "Copy code"]
        assert names[4].startswith("Edit second")
        assert names[5] == "Show change"

    def test_what_gets_the_focus_comes_into_view(self, stage: Stage) -> None:
        stage.show(call(title="first"), answer(long_text(12)), answer(long_text(3)))
        stage.view.row_layout.scroll_to(0)
        line = stage.widget(0).findChildren(QWidget)[0]
        bar = stage.view.verticalScrollBar()
        bar.setValue(300)
        assert line.mapTo(stage.view.viewport(), QPoint(0, 0)).y() < 0
        line.setFocus()
        assert line.mapTo(stage.view.viewport(), QPoint(0, 0)).y() >= 0

    def test_every_button_has_a_name(self, stage: Stage) -> None:
        stage.show(
            answer("```py\nx\n```"),
            call("run_terminal_cmd", "ls", output="x\n" * 40, call_id="a"),
            call("edit_file", changes=(change(),), call_id="b"),
            call("run_terminal_cmd", "git push", approval=question(offers=["Allow `git push`"]), call_id="c"),
            is_running=True,
        )
        for button in stage.view.findChildren(QPushButton):
            assert button.accessibleName() or button.text()


class TestTheTheme:
    def test_another_theme_redraws_everything(self, stage: Stage, chosen: Theme) -> None:
        stage.show(prompt("hi"), answer("# Title\n\ntext `code`\n\n```py\nx = 1\n```"), call())
        light = stage.view.grab().toImage()
        top = stage.top_text()
        chosen.choose("dark")
        dark = stage.view.grab().toImage()
        assert dark != light
        assert dark.pixelColor(5, 5).name() == chosen.colours.surface.lower()
        assert stage.top_text() == top
        assert stage.shown_text(1).startswith("Title")


def test_colours_of_code_come_a_moment_later(stage: Stage, theme: Theme) -> None:
    stage.show(answer("```python\ndef f(): return 1\n```"))

    def colours() -> set[str]:
        image = stage.widget(0).grab().toImage()
        return {image.pixelColor(x, y).name() for x in range(12, 200) for y in range(30, 50)}

    stage.qtbot.waitUntil(lambda: theme.colours.syntax_keyword.lower() in colours())


def test_an_open_answer_of_another_conversation_does_not_leak_in(stage: Stage) -> None:
    first = Conversation(stage.view)
    first.ask("one")
    first.stream("from the first")
    second = Transcript()
    second.paged.append(TextEntry(turn=1, chunks=["from the second"], is_open=False, kind="text"))
    stage.view.show_transcript(second)
    stage.view.row_layout.flush()
    assert [stage.shown_text(row.index) for row in stage.view.row_layout.widgets.live] == ["from the second"]


def test_time_passes_on_running_calls_only_while_they_are_seen(stage: Stage) -> None:
    stage.show(call("run_terminal_cmd", "sleep 9"), is_running=True)
    assert stage.view.status.is_ticking
    stage.window.hide()
    assert not stage.view.status.is_ticking


def test_text_and_code_are_as_large_as_the_person_wants(stage: Stage, chosen: Theme) -> None:
    stage.show(prompt("hello"), answer("one\n\n```\ncode\n```"), answer("# title"))
    before = [height for _, _, height in drawn(stage)]
    chosen.choose_sizes(TextSizes(chat=20, code=18))
    larger = [height for _, _, height in drawn(stage)]
    assert all(now > then for now, then in zip(larger, before, strict=True))
    chosen.choose_sizes(TextSizes())
    assert [height for _, _, height in drawn(stage)] == before


def test_a_compact_conversation_takes_less_room_at_once_and_stays_where_it_was(stage: Stage, chosen: Theme) -> None:
    calls = [call(title=f"file {number}", call_id=f"c{number}", result=ToolResult(content="x")) for number in range(20)]
    stage.show(prompt("go"), *calls, answer(f"{long_text(3)}\n\n- one\n- two\n\n## Title\n\n```py\nx\ny\n```"))
    layout = stage.view.row_layout
    layout.scroll_to(0)
    comfortable = layout.rows.heights.total
    chosen.choose_density("compact")
    assert layout.rows.heights.total < 0.8 * comfortable
    assert layout.top_edge == 0
    assert stage.widget(1).height() == 26
    chosen.choose_density("comfortable")
    layout.scroll_to(0)
    assert stage.widget(1).height() == 32


@pytest.mark.parametrize("text", ["word " * 400_000, "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 3_000])
def test_a_huge_answer_that_comes_whole_is_read_in_steps_and_then_is_all_there(stage: Stage, text: str) -> None:
    stage.show(answer(text))
    row = stage.row(0)
    stage.widget(0)
    assert row.stream is not None
    assert row.stream.consumed < len(text), "the first step read all of it"
    stage.qtbot.waitUntil(lambda: row.stream is not None and row.stream.is_closed)
    assert row.stream.source == text
    assert row.widget is not None
    assert len(row.widget.column.text.blocks) == len(row.stream.blocks)
