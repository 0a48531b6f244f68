"""A compaction in the transcript: one line, the summary behind it, and what can be done while it is in force."""

from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Summary
from desktop_agent.core.transcript import CompactionEntry
from tests.ui.chat.stage import Conversation, Stage, click

SUMMARY = Summary(goals=("ship it",), files=("a.py: written",))


def compacted(name: str, through: int = 1) -> ev.Compacted:
    return ev.Compacted(
        compaction_id=name, through_turn=through, summary=SUMMARY, tokens_before=162_000, tokens_after=21_000
    )


def unfold(stage: Stage, index: int) -> None:
    line = next(child for child in stage.widget(index).children() if isinstance(child, QAbstractButton))
    click(line)
    stage.view.updates.flush()


def test_it_is_one_line_that_unfolds_to_the_summary(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    conversation.happen(compacted("c"))
    stage.view.updates.flush()
    widget = stage.widget(0)
    assert "162,000" in widget.accessibleName()
    folded = widget.height()
    unfold(stage, 0)
    assert widget.height() > folded
    assert "ship it" in stage.shown_text(0)
    assert {"Edit…", "Undo"} <= set(stage.buttons())


def test_its_buttons_ask_for_an_edit_and_an_undo(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    conversation.happen(compacted("c"))
    stage.view.updates.flush()
    unfold(stage, 0)
    edits, undos = (
        QSignalSpy(stage.view.entry_actions.summary_edit_requested),
        QSignalSpy(stage.view.entry_actions.summary_undo_requested),
    )
    click(stage.button("Edit…"))
    click(stage.button("Undo"))
    assert (edits.count(), undos.count()) == (1, 1)


def test_only_the_summary_in_force_can_be_edited_or_undone(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    conversation.happen(compacted("a", 1))
    stage.view.updates.flush()
    unfold(stage, 0)
    conversation.happen(compacted("b", 2))
    stage.view.updates.flush()
    assert "Undo" not in stage.buttons()
    conversation.happen(ev.CompactionUndone(compaction_id="b"))
    stage.view.updates.flush()
    assert "Undo" in stage.buttons()
    assert "taken back" in stage.widget(1).accessibleName()


def test_going_back_to_before_what_it_summarised_puts_it_out_of_force(stage: Stage) -> None:
    conversation = Conversation(stage.view)
    for _ in range(3):
        conversation.ask("go")
        conversation.end_turn()
    conversation.happen(compacted("a", 2), ev.Rewound(turn=2, scope="conversation"))
    entry = next(entry for entry in conversation.transcript.entries if isinstance(entry, CompactionEntry))
    assert not entry.is_in_force
