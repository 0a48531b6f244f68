"""An import keeps all words of people: as a prompt, a steering message, or a note."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol import events as ev
from tests.core.importing.conftest import SAMPLES, Importing

CORPUS = [json.loads(line) for line in (SAMPLES / "words_of_persons.jsonl").read_text(encoding="utf-8").splitlines()]


def lines_of(objects: Sequence[object]) -> str:
    return "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in objects)


@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_each_word_is_where_it_belongs(ground: Importing, case: dict[str, Any]) -> None:
    imported = ground.run(ground.file(lines_of(case["lines"])), workspace=ground.workspace)
    events = ground.events(imported)
    assert [event.text for event in events if isinstance(event, ev.PromptSubmitted)] == case["prompts"]
    assert [event.text for event in events if isinstance(event, ev.Steered)] == case["steered"]
    notes = [event for event in events if isinstance(event, ev.Notice) and event.code == ev.IMPORTED_WORDS]
    assert [note.detail for note in notes] == case["notes"]
    assert imported.title == case.get("title", case["prompts"][0].split("\n")[0])


LINKS = st.sampled_from(["kept", "null", "missing", "unknown", "itself", "first"])
WRAPS = st.sampled_from(["{}", "<system-reminder>x</system-reminder>{}", "<bash-input>{}</bash-input>", "{}</x>"])
KINDS = st.sampled_from(["text", "blocks", "second block", "queued", "attachment", "answer", "result"])


@given(steps=st.lists(st.tuples(KINDS, LINKS, WRAPS, st.booleans()), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_word_stays_however_the_lines_are_linked(
    ground: Importing, steps: list[tuple[str, str, str, bool]]
) -> None:
    text, before = "", None
    words: list[str] = []
    for number, (kind, link, wrap, is_joined) in enumerate([("text", "null", "{}", False), *steps]):
        word = f"word{number}x"
        said = wrap.format(word)
        parents: dict[str, Any] = {"kept": before, "unknown": "nobody", "itself": f"n{number}", "first": "n0"}
        fields: dict[str, Any] = {
            "type": "user",
            "uuid": f"n{number}",
            "sessionId": "s",
            "parentUuid": parents.get(link),
        }
        if link == "missing":
            del fields["parentUuid"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": said}]
        match kind:
            case "queued":
                fields = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": said}
            case "attachment":
                fields |= {"type": "attachment", "attachment": {"type": "queued_command", "prompt": said}}
            case "answer" | "result":
                if kind == "result":
                    blocks = [{"type": "tool_result", "tool_use_id": "t", "content": "no"}]
                fields |= {"type": "assistant" if kind == "answer" else "user", "message": {"content": blocks}}
                word = ""
            case _:
                second = [{"type": "text", "text": "<system-reminder>x</system-reminder>"}] if kind[0] == "s" else []
                fields["message"] = {"content": said if kind == "text" else [*second, *blocks]}
        words += filter(None, [word])
        before = fields.get("uuid", before)
        text += json.dumps(fields) + ("" if is_joined else "\n")
    try:
        imported = ground.run(ground.file(text), workspace=ground.workspace, is_again=True)
    except UsageError:  # the last branch has only a command of the user's: nothing is made, nothing lost
        return
    kept = "\n".join(
        event.text if isinstance(event, ev.PromptSubmitted | ev.Steered) else event.detail
        for event in ground.events(imported)
        if isinstance(event, ev.PromptSubmitted | ev.Steered | ev.Notice)
    )
    assert [word for word in words if word not in kept] == []
    assert imported.problems == ()
