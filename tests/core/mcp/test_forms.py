"""Every request of a server becomes a form that can be shown and saved, or is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams

from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.core.mcp.sdk.asked_back import question_of
from desktop_agent.core.protocol.forms import (
    LONGEST_LABEL,
    LONGEST_MESSAGE,
    UnaskableError,
    mistake_in,
    mistake_in_answers,
    number_in,
)
from desktop_agent.core.protocol.model import Answer, FormField, FormOption, ServerQuestion

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
KEYS = ["type", "title", "description", "enum", "enumNames", "oneOf", "anyOf", "items", "default", "format"]
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "array", "object"])
FIELDS = st.dictionaries(st.sampled_from([*KEYS, "minimum", "minLength", "maxItems"]), JSON)


def of_a_kind(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "type": kind}


SCHEMA = st.builds(of_a_kind, KINDS, FIELDS) | FIELDS


def asked(properties: object, message: str = "m", required: object = ()) -> ServerQuestion:
    schema = {"type": "object", "properties": properties, "required": required}
    return question_of("server", ElicitRequestFormParams.model_construct(message=message, requested_schema=schema))


@given(st.dictionaries(st.text(st.characters(codec=None), max_size=8), SCHEMA, max_size=3), JSON)
def test_what_is_asked_can_be_stored_and_hides_nothing(properties: dict[str, Any], required: object) -> None:
    try:
        question = asked(properties, required=required)
    except UnaskableError:
        return
    for field in question.fields:
        field.name.encode()
        assert not has_hidden(field.label + field.description + "".join(option.label for option in field.options))
        assert field.default is None or not mistake_in(field, field.default)


def test_texts_are_bounded_and_what_hides_in_them_is_named() -> None:
    title = "Your\u202ename\x1b[2J" + "x" * 5_000
    question = asked({"name": {"type": "string", "title": title}}, message="a\u200b\nb" + "y" * 9_000)

    (field,) = question.fields
    assert field.label.startswith("Your⟨U+202E⟩name␛[2Jxxx")
    assert len(field.label) < 2 * LONGEST_LABEL
    assert question.message.startswith("a⟨U+200B⟩\nbyyy")
    assert len(question.message) < 2 * LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ({"type": "string", "enum": ["a", "b"]}, [("a", "a"), ("b", "b")]),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}, [("a", "A"), ("b", "b")]),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, [("a", "A")]),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, [("a", "a")]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, [("a", "A")]),
    ],
)
def test_choices_are_read_as_every_version_writes_them(schema: dict[str, Any], options: list[tuple[str, str]]) -> None:
    (field,) = asked({"x": schema}).fields
    assert [(option.value, option.label) for option in field.options] == options


UNASKABLE: list[object] = [
    [],
    {"x": 1},
    {"x": {"type": "object"}},
    {"x": {"type": "array"}},
    {str(n): {"type": "string"} for n in range(31)},
]


@pytest.mark.parametrize("properties", UNASKABLE)
def test_a_form_that_cannot_be_shown_is_refused(properties: object) -> None:
    with pytest.raises(UnaskableError):
        asked(properties)


@pytest.mark.parametrize("url", ["https://example.org/a?b=c", "http://127.0.0.1:8080/", "http://localhost/"])
def test_an_address_is_kept_whole(url: str) -> None:
    assert question_of("s", ElicitRequestURLParams(message="m", url=url)).address == url


CHOICE = (FormOption(value="a", label="A"), FormOption(value="b", label="B"))


@pytest.mark.parametrize(
    ("field", "answer", "mistake"),
    [
        (FormField(name="x", label="X", kind="text", is_required=True), None, "This is needed."),
        (FormField(name="x", label="X", kind="text"), None, ""),
        (FormField(name="x", label="X", kind="text", most=2), "abc", "At most 2 characters."),
        (FormField(name="x", label="X", kind="text", format="email"), "a@b", ""),
        (FormField(name="x", label="X", kind="text", format="email"), "a", "Write an e-mail address"),
        (FormField(name="x", label="X", kind="text", format="uri"), "no address", "Write an address"),
        (FormField(name="x", label="X", kind="text", format="date"), "2026-02-30", "Write a date"),
        (FormField(name="x", label="X", kind="text", format="date-time"), "2026-02-03T04:05:06Z", ""),
        (FormField(name="x", label="X", kind="text", format="date-time"), "2026-02-03", "Write date and time"),
        (FormField(name="x", label="X", kind="integer"), 1.5, "Write a whole number."),
        (FormField(name="x", label="X", kind="number"), True, "Write a number."),
        (FormField(name="x", label="X", kind="number", least=1), 0, "At least 1."),
        (FormField(name="x", label="X", kind="number"), float("nan"), "Write a number."),
        (FormField(name="x", label="X", kind="boolean"), "yes", "This is yes or no."),
        (FormField(name="x", label="X", kind="choice", options=CHOICE), "c", "Choose one of these."),
        (FormField(name="x", label="X", kind="choices", options=CHOICE, least=2), ("a",), "At least 2 choices."),
        (FormField(name="x", label="X", kind="choices", options=CHOICE), ("c",), "Choose from these."),
    ],
)
def test_an_answer_is_held_to_its_field(field: FormField, answer: Answer | None, mistake: str) -> None:
    said = mistake_in(field, answer)
    assert said.startswith(mistake)
    assert bool(said) == bool(mistake)


def test_answers_to_what_was_not_asked_are_no_answers() -> None:
    assert mistake_in_answers(ServerQuestion(server="s", message="m"), {"x": 1}) == "There is no field x."


def test_what_is_no_number_stays_what_was_written() -> None:
    whole = FormField(name="x", label="X", kind="integer")
    assert (number_in(whole, "12"), number_in(whole, "1.5")) == (12, "1.5")
