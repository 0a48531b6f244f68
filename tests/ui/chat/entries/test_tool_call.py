"""A tool call's card: one line, useful output, and necessary notes."""

from datetime import timedelta

import pytest
from msgspec import structs
from msgspec.structs import replace
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.events import ToolOutputDelta
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    BlobRef,
    Decision,
    Denied,
    FileImage,
    OutsideFile,
    RefChange,
    Rule,
    ToolResult,
    Uncaptured,
)
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import NOW, Stage, call, change, click, question, record

OID = "1" * 40
LINES = "".join(f"line {number}\n" for number in range(30))


def name_of(stage: Stage) -> str:
    return stage.widget(0).accessibleName()


def line_of(stage: Stage) -> QWidget:
    return stage.widget(0).findChildren(QWidget)[0]


def is_unfolded(stage: Stage) -> bool:
    return stage.widget(0).is_column_shown


def test_variables_that_a_command_did_not_get_are_named() -> None:
    result = ToolResult(content="{}", is_error=True, metadata={"exit_code": 1, "kept_back": ["DATABASE_URL"]})
    assert entry_words.notes(call("run_terminal_cmd", "./migrate", result=result)) == [
        (
            "Withheld from commands: DATABASE_URL. To pass them on, add them to the setting “Variables passed on”.",
            "muted",
        )
    ]


class TestTheLine:
    def test_it_begins_with_what_the_tool_does(self, stage: Stage) -> None:
        verbs = {"read_file": "Read", "list_files": "List", "grep": "Search", "glob_file_search": "Search"}
        verbs |= {"edit_file": "Edit", "apply_patch": "Edit", "create_file": "Create", "delete_file": "Delete"}
        verbs |= {"run_terminal_cmd": "Run", "weather": "weather"}
        for tool, verb in verbs.items():
            stage.show(call(tool, "x", result=ToolResult(content="")))
            assert name_of(stage).startswith(f"{verb} x done")

    def test_its_state_is_said_in_words(self, stage: Stage) -> None:
        cases = [
            (call(), "running 3.2 s"),
            (call(result=ToolResult(content="")), "done 6 ms"),
            (call(result=ToolResult(content="", is_error=True)), "failed 6 ms"),
            (call(result=ToolResult(content="", is_error=True), decision=Denied()), "denied 6 ms"),
            (call(result=ToolResult(content="", is_error=True), decision=Aborted(reason="x")), "not run 6 ms"),
        ]
        for entry, said in cases:
            stage.show(entry)
            assert name_of(stage) == f"Read src/app.py {said}"

    def test_it_sums_up_what_came_of_it(self, stage: Stage) -> None:
        def summary(**metadata: object) -> str:
            stage.show(call(result=ToolResult(content="x", metadata=metadata)))
            return name_of(stage).removeprefix("Read src/app.py done ")

        assert summary(lines=84) == "84 lines · 6 ms"
        assert summary(lines=1) == "1 line · 6 ms"
        assert summary(matches=7, files=4) == "7 matches in 4 files · 6 ms"
        assert summary(total_matches=0, files=0) == "no matches · 6 ms"
        assert summary(files=2, matches=[{"path": "a"}, {"path": "b"}]) == "2 files · 6 ms"
        assert summary(entries=2, matches=[{"path": "a"}, {"path": "b"}]) == "2 entries · 6 ms"
        assert summary(entries=1200) == "1\u202f200 entries · 6 ms"
        assert summary(exit_code=2) == "exit 2 6 ms"
        assert summary(exit_code=0) == "6 ms"
        assert summary(exit_code=-1, timed_out=True) == "timed out 6 ms"
        assert summary(exit_code=0, confinement="read-only sandbox") == "read-only sandbox · 6 ms"
        assert summary(exit_code=1, escalated=True) == "exit 1 outside the sandbox · 6 ms"

    def test_it_counts_changed_lines_and_shows_the_change(self, stage: Stage) -> None:
        stage.show(call("edit_file", changes=(change(), change("b.py")), result=ToolResult(content="{}")))
        requested = record(stage.view.entry_actions.changes_requested)
        stage.button("Show change").click()
        assert requested == [("c1",)]
        assert name_of(stage) == "Edit src/app.py done 6 added, 4 removed 2 files"

    def test_only_a_running_call_can_be_stopped(self, stage: Stage) -> None:
        stage.show(call("run_terminal_cmd", "sleep 9"), is_running=True)
        requested = record(stage.view.entry_actions.stop_requested)
        stage.button("Stop").click()
        assert len(requested) == 1
        stage.show(call(result=ToolResult(content="x")))
        assert "Stop" not in stage.buttons()


class TestTheOutput:
    def test_what_runs_shows_its_last_lines_as_they_come(self, stage: Stage) -> None:
        conversation = stage.talk()
        call_id = conversation.start_call("run_terminal_cmd", "make")
        conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text="\x1b[32mfirst\x1b[0m\n"))
        assert stage.shown_text(1) == "first"
        conversation.show(ToolOutputDelta(turn=1, call_id=call_id, text=LINES))
        assert stage.shown_text(1).splitlines()[-1] == "line 29"
        assert len(stage.shown_text(1).splitlines()) == 12

    def test_a_finished_command_keeps_its_last_lines_and_offers_all(self, stage: Stage) -> None:
        entry = call("run_terminal_cmd", "make", output=LINES, result=ToolResult(content="{}"))
        stage.show(entry)
        requested = record(stage.view.entry_actions.output_requested)
        stage.button("Show all output").click()
        assert requested == [(entry,)]
        assert stage.shown_text(0).startswith("line 18\u2028")

    def test_a_replayed_command_shows_the_output_in_its_result(self, stage: Stage) -> None:
        stage.show(call("run_terminal_cmd", "ls", result=ToolResult(content='{"output": "a\\nb\\n", "metadata": {}}')))
        assert stage.shown_text(0) == "a\u2028b"

    @pytest.mark.parametrize(
        ("output", "stored", "is_offered"), [("", 9_000_000, True), ("a\nb\n", 0, False), ("a\nb\n", 9, False)]
    )
    def test_all_output_is_offered_where_not_all_is_shown(
        self, stage: Stage, output: str, stored: int, is_offered: bool
    ) -> None:
        """The model's output may be plain while the stored output has colours."""
        ref = BlobRef(blob="0" * 64, size=stored, media_type="text/plain") if stored else None
        stage.show(call("run_terminal_cmd", "ls", output=output, result=ToolResult(content="short", output=ref)))
        assert ("Show all output" in stage.buttons()) == is_offered

    @pytest.mark.parametrize("key", [None, Qt.Key.Key_Return, Qt.Key.Key_Space])
    def test_what_was_read_is_folded_until_it_is_asked_for(self, stage: Stage, key: Qt.Key | None) -> None:
        stage.show(call(result=ToolResult(content=LINES)))
        assert not is_unfolded(stage)
        height = stage.widget(0).height()
        line_of(stage).setFocus()
        click(line_of(stage)) if key is None else stage.key(key, line_of(stage))
        assert is_unfolded(stage)
        assert stage.shown_text(0).startswith("line 0\u2028")
        assert stage.widget(0).height() > height

    def test_a_failure_is_shown_at_once_in_readable_form(self, stage: Stage) -> None:
        error = ToolResult(content='{"ok": false, "error": "no such file: x"}', is_error=True)
        stage.show(call("edit_file", "x", result=error))
        assert is_unfolded(stage)
        assert stage.shown_text(0) == "no such file: x"

    def test_a_call_without_output_does_not_unfold(self, stage: Stage) -> None:
        stage.show(call(result=ToolResult(content="")))
        click(line_of(stage))
        assert not is_unfolded(stage)

    def test_a_line_too_long_to_show_is_cut_at_the_edge_and_copied_whole(self, stage: Stage) -> None:
        line = "x" * 300
        stage.show(call("run_terminal_cmd", "cat", output=line, result=ToolResult(content="{}")))
        assert stage.widget(0).height() < 80
        stage.view.selected.select_all()
        assert line in stage.view.selected.text()


class TestWhatElseIsSaid:
    def test_edited_denied_and_unrecorded_is_said_and_copied(self, stage: Stage) -> None:
        def said(**facts: object) -> str:
            stage.show(call("run_terminal_cmd", "rm -r build", result=ToolResult(content=""), **facts))  # pyright: ignore[reportArgumentType] - the cases below
            stage.view.selected.select_all()
            return stage.view.selected.text().removeprefix("Run rm -r build\n")

        assert said(decision=Allowed(edited_command="rm -r dist")) == "Modified by you: rm -r dist"
        assert said(decision=Denied(message="not yet")) == "You denied it: not yet"
        assert said(decision=Denied()) == "You denied it."
        assert said(decision=Aborted(reason="The turn was stopped.")) == "Not run: The turn was stopped."
        uncaptured = (Uncaptured(path="big.bin", reason="larger than 50 MB"),)
        assert said(uncaptured=uncaptured) == "⚠ big.bin cannot be undone: larger than 50 MB"
        whole = (Uncaptured(path=".", reason="What it changes from now on is not captured."),)
        assert said(uncaptured=whole) == "⚠ What it changes from now on is not captured."

    def test_a_note_makes_the_card_higher(self, stage: Stage) -> None:
        stage.show(call(result=ToolResult(content="")))
        plain = stage.widget(0).height()
        stage.show(call(result=ToolResult(content="", is_error=True), decision=Denied(message="no")))
        assert stage.widget(0).height() > plain


class TestWhyItWasAsked:
    def asked(self, stage: Stage, decision: Decision) -> str:
        entry = call(
            "run_terminal_cmd", "git push", output="done\n", result=ToolResult(content="{}"), decision=decision
        )
        stage.show(replace(entry, approval=question()))
        return line_of(stage).accessibleDescription()

    def test_a_finished_call_says_on_demand_why_it_was_asked_and_what_was_answered(self, stage: Stage) -> None:
        reason = "Asked: Asks because git push uses the network"
        rule = Rule(id="r", effect="allow", kind="command", pattern="git push", scope="session", created_at=NOW)
        assert self.asked(stage, Allowed()) == f"{reason} · allowed once"
        assert self.asked(stage, Allowed(scope="session")) == f"{reason} · allowed in this session"
        assert self.asked(stage, Allowed(rules=(rule,))) == f"{reason} · allowed from now on: git push"
        assert self.asked(stage, Denied()) == f"{reason} · denied"
        assert self.asked(stage, Aborted(reason="stopped")) == f"{reason} · not answered"
        assert "Asked: " in line_of(stage).toolTip()
        stage.show(call("run_terminal_cmd", "ls", result=ToolResult(content="{}")))
        assert (line_of(stage).accessibleDescription(), line_of(stage).toolTip()) == ("", ""), "it was not asked about"

    @pytest.mark.parametrize("clicks", [2, 1], ids=["below the output", "alone, where there is no output"])
    def test_it_is_written_on_the_card_that_the_person_unfolds(self, stage: Stage, clicks: int) -> None:
        output = "done\n" if clicks == 2 else ""
        entry = call("run_terminal_cmd", "x", output=output, result=ToolResult(content=""), decision=Allowed())
        stage.show(replace(entry, approval=question()))
        height = stage.widget(0).height()
        for _ in range(clicks):
            click(line_of(stage))
        assert stage.widget(0).height() > height


def test_the_mark_of_a_running_call_pulses_unless_nothing_shall_move(stage: Stage, theme: Theme) -> None:
    def mark() -> QImage:
        return line_of(stage).grab(QRect(0, 0, 20, line_of(stage).height())).toImage()

    stage.show(call("run_terminal_cmd", "sleep 9"), is_running=True)
    theme.choose_motion("reduced")
    first = mark()
    stage.widget(0).tick()
    assert mark() == first
    theme.choose_motion("full")
    stage.widget(0).tick()
    assert mark() != first
    theme.choose_motion("reduced")
    assert mark() == first, "it does not stop half faded"


def destroyed(**more: object) -> ToolEntry:
    entry = call(
        "run_terminal_cmd", "git stash drop", changes=(change(), change("b.py")), result=ToolResult(content="")
    )
    entry.refs = (RefChange(name=f"stash:{OID}", before=OID, after=None, message="On main: work"),)
    entry.is_recoverable = True
    for name, value in more.items():
        setattr(entry, name, value)
    return entry


def recover_button(stage: Stage) -> QPushButton:
    return next(b for b in stage.widget(0).findChildren(QPushButton) if b.objectName() == "recoverButton")


class TestRecovery:
    def test_what_a_command_destroyed_can_be_recovered_from_its_card(self, stage: Stage) -> None:
        stage.show(destroyed())
        button = recover_button(stage)
        assert button.isVisible()
        assert button.accessibleName() == "Recover. Restores 2 files and 1 stash entry"
        assert "Restores 2 files and 1 stash entry" in button.toolTip()
        requested = record(stage.view.entry_actions.recover_requested)
        click(button)
        assert requested == [("c1",)]

    @pytest.mark.parametrize("state", [{"is_recoverable": False}, {"is_recovered": True}, {"state": "started"}])
    def test_nothing_is_offered_where_there_is_nothing_to_put_back(
        self, stage: Stage, state: dict[str, object]
    ) -> None:
        stage.show(destroyed(**state))
        assert not recover_button(stage).isVisible()

    @pytest.mark.parametrize(
        ("uncaptured", "said"),
        [
            ((), "Recovered: everything that the command destroyed is restored."),
            ((Uncaptured(path="big", reason="It is too much."),), "Recovered: everything that was copied is restored."),
        ],
    )
    def test_what_was_recovered_is_said_on_the_card(self, uncaptured: tuple[Uncaptured, ...], said: str) -> None:
        assert entry_words.notes(destroyed(is_recovered=True, uncaptured=uncaptured))[0] == (said, "muted")

    @pytest.mark.parametrize(
        ("names", "outside", "expected"),
        [
            (("refs/heads/topic",), (), "Restores branch topic"),
            (("refs/heads/a", "refs/heads/b", "refs/tags/v1"), (), "Restores 2 branches and tag v1"),
            (("HEAD",), (), "Restores the checked-out commit"),
            ((), ("/srv/tree/a.txt", "/srv/x/.git/worktrees/tree/HEAD"), "Restores 1 file and git's own files"),
            ((), ("/srv/x/.git/index",), "Restores the staged changes"),
        ],
    )
    def test_what_comes_back_is_said_in_words(
        self, names: tuple[str, ...], outside: tuple[str, ...], expected: str
    ) -> None:
        refs = tuple(RefChange(name=name, before=OID, after=None) for name in names)
        image = FileImage(digest="0" * 64, size=1, mode=0o644)
        files = tuple(OutsideFile(path=path, before=image, after=None) for path in outside)
        assert entry_words.recovery(destroyed(changes=(), refs=refs, outside=files)) == expected


def test_the_title_is_what_ran_and_waiting_is_no_running_time(stage: Stage) -> None:
    asked = structs.replace(question("git push"), confinement="In the sandbox: may write this folder")
    entry = call("run_terminal_cmd", "git push")
    entry.ask(asked, NOW - timedelta(seconds=3))
    entry.resolve(Allowed(edited_command="git push --dry-run"), NOW - timedelta(seconds=1))
    stage.show(entry, is_running=True)
    names = [widget.accessibleName() for widget in stage.widget(0).findChildren(QWidget)]
    assert "Run git push --dry-run running In the sandbox · 1.2 s" in names
