"""The session format's document names everything that a journal can contain."""

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import model
from desktop_agent.core.store.journal.journal_reader import MAX_INLINE_BYTES, MISSING

DOCUMENT = (Path(__file__).parents[2] / "docs" / "session-format.md").read_text(encoding="utf-8")
ROWS = [line for line in DOCUMENT.splitlines() if line.startswith("| ")]
EVENTS: tuple[type[ev.DurableEvent | ev.LiveEvent], ...] = get_args(ev.KnownEvent) + get_args(ev.LiveEvent)
OBJECTS: dict[str, tuple[type, ...]] = {
    "model": (model.ModelRef,),
    "block": get_args(model.AssistantBlock),
    "usage": (model.Usage,),
    "call": (model.ToolCall,),
    "result": (model.ToolResult,),
    "request": (model.ApprovalRequest,),
    "tool change": (model.ToolChange,),
    "server question": (model.ServerQuestion,),
    "sampling question": (model.SamplingQuestion, model.SampledText),
    "form field": (model.FormField,),
    "rule": (model.Rule,),
    "job": (model.Job,),
    "decision": get_args(model.Decision),
    "change": (model.FileChange,),
    "image": (model.FileImage,),
    "selection": (model.ChangeSelection,),
    "outcome": (model.FileOutcome,),
}
IN_EVERY_LINE = {"seq", "at", "type"}


def kind_of(event: type[ev.Tagged]) -> str:
    return str(event.__struct_config__.tag)


def row_with(first_cell: str) -> str:
    found = [row for row in ROWS if first_cell in row.split(" | ")[0]]
    assert found, f"docs/session-format.md has no row for {first_cell}"
    return found[0]


def unnamed(kind: type, row: str) -> set[str]:
    return {name for name in get_type_hints(kind) if f"`{name}`" not in row}


@pytest.mark.parametrize("event", EVENTS, ids=kind_of)
def test_every_event_has_a_row_with_all_its_fields(event: type[ev.Tagged]) -> None:
    assert unnamed(event, row_with(f"`{kind_of(event)}`")) - IN_EVERY_LINE == set()


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_in_an_event_has_a_row_with_all_its_fields(name: str) -> None:
    row = row_with(f"*{name}*")
    assert [unnamed(kind, row) for kind in OBJECTS[name]] == [set()] * len(OBJECTS[name])


@pytest.mark.parametrize(
    "alias",
    [
        ev.TurnEndReason,
        ev.NoticeLevel,
        ev.ChangePurpose,
        model.StopReason,
        model.ApprovalPolicy,
        model.ApprovalScope,
        model.SandboxMode,
        model.RuleEffect,
        model.RuleKind,
        model.JobState,
        model.Capability,
    ],
)
def test_every_value_of_a_closed_field_is_named(alias: object) -> None:
    assert [value for value in get_args(alias) if f"`{value}`" not in DOCUMENT] == []


def test_the_limit_and_the_mark_of_moved_texts_are_the_ones_of_the_code() -> None:
    assert f"{MAX_INLINE_BYTES:,}".replace(",", " ") in DOCUMENT
    assert MISSING in DOCUMENT
