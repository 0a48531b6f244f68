from datetime import UTC, datetime

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QWidget

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import CommandRun, Notice, NoticeLevel, TurnEndReason
from desktop_agent.core.protocol.model import (
    Clash,
    FileOutcome,
    HookDecision,
    HookEvent,
    Maker,
    OutcomeState,
    Summary,
    TextBlock,
    ToolUseBlock,
)
from desktop_agent.core.slash.declarations import bullets, code, fenced
from desktop_agent.core.transcript import RETRYING, CompactionEntry, HookEntry, NoticeEntry, UndoEntry
from desktop_agent.ui.chat.conversation_search import Search
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.entries.markdown_entries import CommandWidget
from desktop_agent.ui.chat.transcript.mouse_and_keyboard import copied_row
from tests.ui.chat.stage import MODEL, Conversation, Stage, answer, click, prompt, record, thought
from tests.ui.ink import ink_rect


def outcome(
    path: str,
    state: OutcomeState = "restored",
    *,
    change: str = "3.1",
    by: Maker | None = None,
    reason: str = "",
    hunks: tuple[str, ...] = (),
) -> FileOutcome:
    clash = Clash(base=None, wanted=None, yours=None, yours_by=(by,)) if by is not None else None
    return FileOutcome(path=path, state=state, change_ids=(change,), clash=clash, reason=reason, hunks=hunks)


def notice(level: NoticeLevel, code: str, title: str = "It failed.", hint: str = "", detail: str = "") -> NoticeEntry:
    return NoticeEntry(notice=Notice(level=level, code=code, title=title, hint=hint, detail=detail))


OVERLOADED = Notice(level="warning", code=RETRYING, title="The model is overloaded.", hint="Trying again in 60 s.")


class TestPrompts:
    def test_a_prompt_is_shown_as_it_was_written(self, stage: Stage) -> None:
        stage.show(prompt("# not a *heading*\n- <b>x</b>"))
        assert stage.shown_text(0) == "# not a *heading*\u2028- <b>x</b>"
        assert stage.widget(0).accessibleName() == "You: # not a *heading*\n- <b>x</b>"
        assert (stage.view.accessibleName(), stage.view.objectName()) == ("Conversation", "transcript")

    def test_a_short_prompt_has_a_short_bubble_at_the_right(self, stage: Stage) -> None:
        stage.show(prompt("hi"), prompt("much longer " * 30))
        short, long = stage.widget(0), stage.widget(1)
        assert short.column_origin.x() > long.column_origin.x() + 300

    def test_a_pasted_megabyte_is_laid_out_in_parts(self, stage: Stage) -> None:
        stage.show(prompt("pasted line of a log file\n" * 40_000))
        assert stage.widget(0).column.laid_out < 30


class TestAnswers:
    def test_a_fence_is_copied_without_its_fence(self, stage: Stage) -> None:
        code = "\n".join(f"line {number}" for number in range(100))
        stage.show(answer(f"Do this:\n\n```bash\n{code}\n```\nDone."))
        stage.view.row_layout.scroll_to(0)
        QGuiApplication.clipboard().clear()
        click(stage.button("Copy"))  # while the answer is still being read
        stage.qtbot.waitUntil(lambda: "Copied" in stage.buttons())
        assert QGuiApplication.clipboard().text() == code

    def test_the_name_of_an_answer_comes_when_it_is_whole(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.stream("an answer")
        stage.view.row_layout.flush()
        assert stage.widget(1).accessibleName() == "Answer in progress"
        conversation.finish("an answer")
        stage.view.row_layout.flush()
        assert stage.widget(1).accessibleName() == "Answer: an answer"

    def test_hostile_markdown_is_only_text(self, stage: Stage) -> None:
        hostile = (
            '<script>x</script> ![i](http://evil.example/x.png) <img src="http://evil.example/y.png">\n\n'
            + "> " * 200
            + "deep\n\n"
            + "`" * 99
            + "\n\n| a |\n|---|\n"
            + "*" * 500
            + "\n\n```\nnever closed"
        )
        stage.show(answer(hostile))
        shown = stage.shown_text(0)
        assert "<script>x</script> Picture: i (evil.example) <img" in shown
        assert "deep" in shown
        assert shown.endswith("never closed")

    @pytest.mark.parametrize("text", ["", "\n\n", "\u2028", "\u0000", "\u202eright to left\u202c", "a\tb", "👩‍👩‍👧‍👦"])
    def test_odd_texts_are_shown(self, stage: Stage, text: str) -> None:
        stage.show(answer(text), answer("after"))
        assert stage.shown_text(1) == "after"


class TestThinking:
    def test_it_is_folded_and_says_whether_it_goes_on(self, stage: Stage) -> None:
        stage.show(thought("one"), thought("two", is_open=True))
        assert [stage.widget(index).accessibleName() for index in range(2)] == ["Thought", "Thinking…"]
        assert not stage.widget(0).is_column_shown

    @pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
    def test_it_unfolds_and_folds_with_the_keyboard(self, stage: Stage, key: Qt.Key) -> None:
        stage.show(thought("deep thought"))
        line = stage.widget(0).findChildren(QWidget)[0]
        line.setFocus()
        height = stage.widget(0).height()
        stage.key(key, line)
        assert stage.shown_text(0) == "deep thought"
        assert stage.widget(0).height() > height
        stage.key(key, line)
        assert stage.widget(0).height() == height

    def test_unfolded_thinking_goes_on(self, stage: Stage) -> None:
        conversation = stage.talk()
        conversation.show(ev.ThinkingDelta(turn=1, text="first "))
        click(stage.widget(1).findChildren(QWidget)[0])
        conversation.show(ev.ThinkingDelta(turn=1, text="second"))
        assert stage.shown_text(1) == "first second"


class TestNotices:
    @pytest.mark.parametrize(
        ("title", "hint", "said"),
        [
            ("The model is down.", "Try later.", "The model is down. Try later."),
            ("You are not signed in.", "Type `auth sign-in`.", "You are not signed in. Type “auth sign-in”."),
        ],
    )
    def test_a_notice_says_what_happened_and_what_to_do(self, stage: Stage, title: str, hint: str, said: str) -> None:
        stage.show(notice("error", "server", title, hint))
        assert stage.widget(0).accessibleName() == said

    def test_details_come_on_demand(self, stage: Stage) -> None:
        stage.show(notice("error", "server", detail="HTTP 500\nrequest id 7"))
        assert not stage.widget(0).is_column_shown
        click(stage.button("Details"))
        assert stage.shown_text(0) == "HTTP 500\u2028request id 7"
        click(stage.button("Hide details"))
        assert not stage.widget(0).is_column_shown

    @pytest.mark.parametrize(
        ("level", "code", "offered"),
        [
            ("error", "authentication", ["Open settings", "Try again"]),
            ("error", "no_key", ["Open settings", "Try again"]),
            ("error", "workspace", ["Try again", "Open another folder…"]),
            ("error", "storage", []),
            ("error", "network", ["Try again"]),
            ("warning", "retrying", []),
            ("warning", "network", []),
            ("info", "continued", []),
        ],
    )
    def test_what_helps_is_offered(self, stage: Stage, level: NoticeLevel, code: str, offered: list[str]) -> None:
        stage.show(notice(level, code))
        assert stage.buttons(stage.widget(0)) == offered
        actions = stage.view.entry_actions
        asks = {"Open settings": actions.settings_requested, "Try again": actions.retry_requested}
        for text in offered[:2] if code == "authentication" else ():
            asked = record(asks[text])
            click(stage.button(text))
            assert len(asked) == 1

    def test_a_wait_can_be_skipped_while_it_lasts(self, stage: Stage) -> None:
        conversation = stage.talk()
        asked = record(stage.view.entry_actions.try_now_requested)
        for tries in (1, 2):
            conversation.happen(OVERLOADED)
            stage.qtbot.waitUntil(
                lambda: isinstance(stage.row(-1).entry, NoticeEntry) and stage.row(-1).widget is not None
            )
            low = stage.widget(-1).height()
            conversation.happen(ev.RetryWaitReported(turn=1, is_waiting=True))
            stage.qtbot.waitUntil(lambda: stage.buttons(stage.view).count("Try now") == 1)
            button = stage.button("Try now")
            assert stage.widget(-1).isAncestorOf(button), "and none on the notice of the wait before"
            assert stage.widget(-1).height() > low
            assert stage.widget(-1).rect().contains(button.geometry())
            if tries == 1:
                click(button)
            else:
                assert QAccessible.queryAccessibleInterface(button).text(QAccessible.Text.Name) == "Try now"
                stage.view.setFocus()
                for _ in range(4):
                    if not button.hasFocus():
                        stage.key(Qt.Key.Key_Tab, stage.window.focusWidget())
                stage.key(Qt.Key.Key_Space, stage.window.focusWidget())
            assert len(asked) == tries
            conversation.happen(ev.RetryWaitReported(turn=1, is_waiting=False))
            stage.qtbot.waitUntil(lambda: "Try now" not in stage.buttons(stage.view))
            assert stage.widget(-1).height() == low
            assert stage.view.hasFocus(), "the keyboard does not end up on some other button"

    @pytest.mark.parametrize("reason", ["completed", "interrupted", "provider_error"])
    def test_a_turn_that_has_ended_offers_no_try(self, stage: Stage, reason: TurnEndReason) -> None:
        conversation = stage.talk()
        conversation.happen(OVERLOADED, ev.RetryWaitReported(turn=1, is_waiting=True))
        stage.qtbot.waitUntil(lambda: "Try now" in stage.buttons(stage.view))
        conversation.end_turn(reason)
        stage.qtbot.waitUntil(lambda: "Try now" not in stage.buttons(stage.view))


CUT_OFF = "Cut off: the application ended while the agent worked"
AT = datetime(2026, 1, 1, tzinfo=UTC)


class TestLines:
    @pytest.mark.parametrize(
        ("reason", "duration_s", "is_cut_off", "sentence"),
        [
            ("interrupted", 3.2, False, "Stopped by you after 3.2 s"),
            ("max_turns", 3.2, False, "Reached the limit of 8 model requests. Send a message to continue."),
            ("refused", 3.2, False, "The model declined to answer."),
            ("storage_error", 3.2, False, "Stopped because the session could not be saved."),
            ("interrupted", 61, True, f"{CUT_OFF}, after at least 1 min 1 s"),
            ("interrupted", 0, True, CUT_OFF),
            ("interrupted", 0, False, "Interrupted"),
            ("completed", 0, False, "Done"),
        ],
    )
    def test_the_end_of_a_turn_is_a_sentence_that_names_only_what_is_known(
        self, stage: Stage, reason: TurnEndReason, duration_s: float, is_cut_off: bool, sentence: str
    ) -> None:
        stage.show(ev.TurnEnded(turn=1, reason=reason, requests=8, duration_s=duration_s, is_cut_off=is_cut_off))
        assert stage.widget(0).accessibleName() == sentence

    @pytest.mark.parametrize(
        ("outcomes", "undone", "redone"),
        [
            (
                [outcome("a"), outcome("b", "unchanged"), outcome("c", "conflict", by=Maker("person"))],
                "Undid 2 files of turn 3 · 1 left alone because you changed it",
                "Redid 2 files of turn 3 · 1 left alone because you changed it",
            ),
            (
                [outcome("a"), outcome("d", "failed", change="4.1")],
                "Undid 1 file · 1 could not be written",
                "Redid 1 file · 1 could not be written",
            ),
            (
                [outcome("c", "conflict", by=Maker("agent", 4))],
                "Nothing was undone · 1 left alone because turn 4 changed it",
                "Nothing was redone · 1 left alone because turn 4 changed it",
            ),
            (
                [outcome("c", "conflict", by=Maker("unknown"))],
                "Nothing was undone · 1 left alone",
                "Nothing was redone · 1 left alone",
            ),
            (
                [outcome(name, reason="It lacks a right.") for name in "abcde"],
                "Undid 5 files of turn 3 · a: It lacks a right · b: It lacks a right · c: It lacks a right"
                " · 2 more only partly restored",
                None,
            ),
            ([outcome("src/a.py", hunks=("h1",))], "Undid 1 change in src/a.py of turn 3", None),
            ([outcome("src/a.py", hunks=("h1", "h2"))], "Undid 2 changes in src/a.py of turn 3", None),
        ],
    )
    def test_an_undo_says_what_it_did_what_not_and_why(
        self, stage: Stage, outcomes: list[FileOutcome], undone: str, redone: str | None
    ) -> None:
        done = tuple(outcomes)
        stage.show(UndoEntry(purpose="undo", outcomes=done, at=AT), UndoEntry(purpose="redo", outcomes=done, at=AT))
        assert stage.widget(0).accessibleName() == undone
        assert redone is None or stage.widget(1).accessibleName() == redone


def test_code_of_a_finished_answer_can_be_applied_to_the_file_that_is_named(stage: Stage) -> None:
    text = "Put this into `a.py`:\n\n```python\nx = 1\n```\n\n```bash\npytest\n```"
    stage.show(answer(text, is_open=True))
    assert stage.buttons().count("Apply…") == 0
    stage.show(answer(text))
    asked = record(stage.view.entry_actions.apply_requested)
    assert stage.buttons().count("Apply…") == 1, "what is run is not saved"
    click(stage.button("Apply"))
    assert asked == [("x = 1", ("a.py",))]


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


def test_both_are_found_and_copied() -> None:
    rows = [EntryRow(command("/pin add zebra", "Pinned"), 0), EntryRow(command("/status", "one `zebra`"), 1)]
    search = Search("zebra")
    for row in rows:
        list(search.read_row(row))
    assert search.total == 2
    assert copied_row(rows[1]) == "/status\none `zebra`"


def _colours(widget: CommandWidget | object) -> set[str]:
    assert isinstance(widget, CommandWidget)
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(4) for y in range(image.height())}


SUMMARY = Summary(goals=("ship it",), files=("a.py: written",))


def compacted(name: str, through: int = 1) -> ev.Compacted:
    return ev.Compacted(
        compaction_id=name, through_turn=through, summary=SUMMARY, tokens_before=162_000, tokens_after=21_000
    )


def unfold(stage: Stage, index: int) -> None:
    line = next(child for child in stage.widget(index).children() if isinstance(child, QAbstractButton))
    click(line)
    stage.view.row_layout.flush()


def test_it_is_one_line_that_unfolds_to_the_summary_and_its_buttons(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    conversation.show(compacted("c"))
    widget = stage.widget(0)
    assert "162,000" in widget.accessibleName()
    folded = widget.height()
    unfold(stage, 0)
    assert widget.height() > folded
    assert "ship it" in stage.shown_text(0)
    edits = record(stage.view.entry_actions.summary_edit_requested)
    undos = record(stage.view.entry_actions.summary_undo_requested)
    click(stage.button("Edit…"))
    click(stage.button("Undo"))
    assert (len(edits), len(undos)) == (1, 1)


def test_only_the_summary_in_force_can_be_edited_or_undone(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    conversation.show(compacted("a", 1))
    unfold(stage, 0)
    conversation.show(compacted("b", 2))
    assert "Undo" not in stage.buttons()
    conversation.show(ev.CompactionUndone(compaction_id="b"))
    assert "Undo" in stage.buttons()
    assert "was undone" in stage.widget(1).accessibleName()


def test_going_back_to_before_what_it_summarised_puts_it_out_of_force(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    for _ in range(3):
        conversation.ask("go")
        conversation.end_turn()
    conversation.happen(compacted("a", 2), ev.Rewound(turn=2, scope="conversation"))
    entry = next(entry for entry in conversation.transcript.entries if isinstance(entry, CompactionEntry))
    assert not entry.is_in_force


class TestWhatCanBeDoneWithAnAnswer:
    def test_it_is_copied_quoted_and_asked_for_again_by_visible_buttons(self, stage: Stage) -> None:
        conversation = stage.talk("go")
        conversation.stream("It **works**.")
        stage.view.row_layout.flush()
        assert not stage.buttons(stage.widget(-1))
        conversation.finish("It **works**.")
        stage.view.row_layout.flush()
        widget = stage.widget(-1)
        assert stage.buttons(widget) == ["Copy", "Quote", "Retry"]
        assert all(widget.rect().contains(button.geometry()) for button in widget.findChildren(QAbstractButton))
        first = stage.button("Copy", widget)
        words, sign = (ink_rect(widget, area) for area in (QRect(0, 0, widget.width(), 20), first.geometry()))
        assert abs(words.left() - sign.left()) <= 2, "the row begins where the text does"
        actions = stage.view.entry_actions
        quoted, again = record(actions.quote_requested), record(actions.again_requested)
        click(stage.button("Copy", widget))
        assert QGuiApplication.clipboard().text() == "It **works**."
        assert stage.buttons(widget) == ["Copied", "Quote", "Retry"]
        click(stage.button("Quote", widget))
        click(stage.button("Retry", widget))
        assert (quoted, again) == ([("It **works**.",)], [(1,)])

    def test_what_comes_before_a_call_has_no_buttons(self, stage: Stage) -> None:
        conversation = stage.talk("go")
        content = (TextBlock(text="I look first."), ToolUseBlock(id="c1", name="read_file", arguments={}))
        conversation.show(
            ev.MessageDone(turn=1, message_id="m", model=MODEL, content=content, stop_reason="tool_use"),
        )
        assert not stage.buttons(stage.widget(-1))


class TestHooks:
    def ran(
        self, moment: HookEvent = "PreToolUse", decision: HookDecision = "", reason: str = "", output: str = ""
    ) -> ev.HookRan:
        return ev.HookRan(
            turn=1,
            moment=moment,
            command="./check.sh",
            path="/w/hooks.json",
            exit_code=0,
            decision=decision,
            reason=reason,
            output=output,
        )

    def test_runs_without_a_decision_are_a_small_line(self, stage: Stage) -> None:
        stage.show(HookEntry(runs=(self.ran(), self.ran("PostToolUse"))))
        assert stage.widget(0).accessibleName() == "2 hooks ran · PreToolUse, PostToolUse"
        assert not stage.widget(0).is_column_shown

    def test_a_decision_is_said_and_the_line_opens_to_all_of_it(self, stage: Stage) -> None:
        stage.show(HookEntry(runs=(self.ran(), self.ran(decision="deny", reason="Not \u202ehere.", output="seen"))))
        widget = stage.widget(0)
        assert widget.accessibleName() == "2 hooks ran · PreToolUse · refused it · Not ⟨U+202E⟩here."
        widget.toggle()
        shown = widget.source()
        for part in ("$ ./check.sh", "/w/hooks.json", "exit code 0", "Not ⟨U+202E⟩here.", "seen"):
            assert part in shown
        assert copied_row(widget.row).endswith(shown)
