"""The inbox's items come from the transcripts of open sessions and the list of the others."""

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Denied,
    SamplingQuestion,
    ServerQuestion,
    SessionSummary,
    SpendingQuestion,
)
from desktop_agent.ui.inbox import InboxSession, items_of, kind_of, note_of, subject_of, title_of, words_when_gone
from tests.ui.inbox.stage import NOW, ask, asking, at, end, ended, item, session


def summary(session_id: str, asks: int, *, is_archived: bool = False) -> SessionSummary:
    return SessionSummary(
        id=session_id,
        title="Left",
        workspace="/srv/left",
        created_at=NOW,
        updated_at=NOW,
        active_at=at(-60),
        state="waiting" if asks else "idle",
        turns=1,
        size_bytes=1,
        is_archived=is_archived,
        asks=asks,
    )


def test_every_question_is_a_row_with_its_session_and_since_when() -> None:
    transcript = session()
    ask(transcript, asking(call_id="c1"), minute=1)
    ask(transcript, asking(call_id="c2"), minute=3)
    found = items_of([InboxSession(transcript)], (), {})
    assert [(one.key, one.title, one.workspace, one.since) for one in found] == [
        (("s1", "c1"), "Make a file", "/srv/project", at(1)),
        (("s1", "c2"), "Make a file", "/srv/project", at(3)),
    ]
    transcript.apply(ev.ApprovalResolved(seq=8, at=at(4), turn=1, call_id="c1", decision=Denied()))
    assert [one.key for one in items_of([InboxSession(transcript)], (), {})] == [("s1", "c2")]


def test_questions_come_first_the_oldest_at_the_top_then_ends_the_last_at_the_top() -> None:
    late, early, done, failed = session("late"), session("early"), session("done"), session("failed")
    ask(late, asking(), minute=5)
    ask(early, asking(), minute=1)
    end(done, minute=2)
    end(failed, "provider_error", minute=9)
    opened = [InboxSession(one) for one in (late, done, failed, early)]
    left = summary("left", 2)
    seen: dict[str, int] = dict.fromkeys(("late", "early", "done", "failed"), 0)
    found = items_of(opened, [left, summary("idle", 0), summary("away", 1, is_archived=True)], seen)
    assert [one.session_id for one in found] == ["left", "early", "late", "failed", "done"]
    assert [kind_of(one) for one in found[::3]] == ["2 questions waiting", "The turn failed"]


def test_a_session_that_is_open_is_not_listed_a_second_time() -> None:
    transcript = session("s1")
    ask(transcript, asking())
    assert len(items_of([InboxSession(transcript)], [summary("s1", 1)], {})) == 1


def test_an_end_that_was_seen_or_came_before_the_window_opened_is_no_row() -> None:
    transcript = session()
    end(transcript)
    assert items_of([InboxSession(transcript)], (), {}) == []
    assert items_of([InboxSession(transcript)], (), {"s1": 1}) == []
    assert [one.kind for one in items_of([InboxSession(transcript)], (), {"s1": 0})] == ["ended"]


def test_what_another_process_asks_can_be_seen_and_not_answered() -> None:
    transcript = session()
    ask(transcript, asking())
    (found,) = items_of([InboxSession(transcript, is_read_only=True)], (), {})
    assert (found.can_answer, found.can_deny) == (False, False)
    assert "another window" in note_of(found)
    question = item(replace(asking(), question=ServerQuestion(server="s", message="Which?")))
    assert (question.can_answer, question.can_deny) == (True, False), "a server's question is not only denied"


def test_the_row_of_a_servers_tool_says_what_it_would_be_called_with() -> None:
    request = replace(
        asking(None), title="Let files run write?", server="files", arguments={"path": "a\u202eb", "n": 1}
    )
    assert subject_of(item(request)) == 'Let files run write? {"path": "a⟨U+202E⟩b", "n": 1}'


@pytest.mark.parametrize(
    ("outcome", "said"), [("allowed", "Allowed elsewhere"), ("denied", "Denied elsewhere"), ("", "No longer waiting")]
)
def test_what_became_of_a_question_is_said_with_its_session(outcome: str, said: str) -> None:
    assert words_when_gone(item(asking()), outcome) == f"{said}: Make a file"


def test_the_words_of_a_kind_hold_nothing_that_a_model_or_a_server_wrote() -> None:
    secret = "hunter2"
    asked = replace(asking(None, title=secret), reason=secret)
    sampling = SamplingQuestion(texts=(), max_tokens=1, model=secret)
    spending = SpendingQuestion(limit="day_usd", day=NOW.date(), limit_usd=1, spent_usd=1, until_usd=2)
    requests = [
        asked,
        replace(asked, command=secret),
        replace(asked, command=secret, is_escalation=True),
        replace(asked, question=ServerQuestion(server=secret, message=secret)),
        replace(asked, question=ServerQuestion(server=secret, message=secret, address=f"https://{secret}.example")),
        replace(asked, question=ServerQuestion(server=secret, message=secret, sampling=sampling)),
        replace(asked, spending=spending),
    ]
    said = [kind_of(item(request)) for request in requests]
    assert len(set(said)) == len(said)
    assert not any(secret in one for one in said)


def test_a_title_is_one_short_line_in_which_nothing_hides() -> None:
    assert title_of(item(asking(), prompt="a\u202eb\n" + "x" * 300)).startswith("a⟨U+202E⟩b")
    assert len(title_of(item(asking(), prompt="x" * 300))) <= 81


def test_how_a_turn_ended_is_said_in_words() -> None:
    assert kind_of(ended()) == "The agent has finished"
    assert kind_of(ended(reason="interrupted")) == "The turn was stopped"
