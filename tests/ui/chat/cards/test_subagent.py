"""The card of a sub-agent: what it does, what it has used, its conversation, its questions and its stop."""

from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Denied, ModelRef, Usage
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from tests.parts import part
from tests.ui.chat.stage import NOW, Conversation, Stage, question, record

MODEL = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
CHILD = "20261121-213800-k3f9qz"


def start(conversation: Conversation) -> str:
    call_id = conversation.start_call("task", "explore: find the callers: all of them")
    conversation.show(ev.SubagentStarted(turn=1, call_id=call_id, session_id=CHILD, role="explore", model=MODEL))
    return call_id


def test_it_says_whose_work_it_is_what_it_does_and_what_it_has_used(stage: Stage) -> None:
    conversation = stage.talk()
    call_id = conversation.start_call("task", "explore: find the callers: all of them")
    conversation.show()
    assert stage.shown_text(1) == "Starts"
    conversation.show(
        ev.SubagentStarted(turn=1, call_id=call_id, session_id=CHILD, role="explore", model=MODEL),
        ev.ToolProgress(turn=1, call_id=call_id, name="task", message="grep  load("),
        ev.UsageReported(turn=1, usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.02), call_id=call_id),
    )
    assert stage.widget(1).accessibleName().startswith("explore find the callers: all of them running")
    assert stage.shown_text(1) == "grep  load("
    conversation.show(ev.ToolProgress(turn=1, call_id=call_id, name="task", message=""))
    assert stage.shown_text(1) == "Thinks"


def test_its_report_takes_the_place_and_it_leads_to_its_conversation(stage: Stage) -> None:
    conversation = stage.talk()
    call_id = start(conversation)
    wanted = record(stage.view.entry_actions.session_requested)
    stage.button("Show its conversation").click()
    assert wanted == [(CHILD,)]
    conversation.end_call(call_id, "Nothing calls it.\n\nIt can go.", is_error=True)
    conversation.show()
    assert "Nothing calls it." in stage.shown_text(1)
    assert "Show its conversation" in stage.buttons()
    conversation.show(ev.ToolProgress(turn=1, call_id=call_id, name="task", message="late"))
    assert "Nothing calls it." in stage.shown_text(1)


def test_its_stop_stops_it_and_not_the_turn(stage: Stage) -> None:
    call_id = start(stage.talk())
    actions = stage.view.entry_actions
    turns, stopped = record(actions.stop_requested), record(actions.subagent_stop_requested)
    stage.button("Stop").click()
    assert (turns, stopped) == ([], [(call_id,)])


def test_its_question_stands_on_its_card_and_the_work_goes_on_afterwards(stage: Stage) -> None:
    conversation = stage.talk()
    call_id = start(conversation)
    asked = replace(question(call_id=call_id), subagent="explore: find the callers")
    conversation.show(ev.ApprovalRequested(turn=1, request=asked, at=NOW))
    assert "The sub-agent “explore: find the callers” asks." in part(stage.widget(1), ApprovalCard).accessibleName()
    assert conversation.transcript.turns.is_working, "others may still work"
    conversation.show(ev.ApprovalResolved(turn=1, call_id=call_id, decision=Denied(), at=NOW))
    assert stage.shown_text(1) == "Thinks"
    assert "denied" not in stage.widget(1).accessibleName()
