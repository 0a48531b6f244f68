"""Questions of MCP servers and other programs' agents, a form or a visit: read as far as they can be shown, and answers
checked, with messages for the user.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, assert_never, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from desktop_agent.core.base.plain_text import has_hidden, is_encodable, named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.web_address import has_userinfo, is_readable_on_the_way
from desktop_agent.core.protocol.model import Answer, FieldFormat, FieldKind, FormField, FormOption, ServerQuestion

LARGEST = 2**53

_EMAIL = regex(r"[^@\s]+@[^@\s]+")


def mistake_in_answers(question: ServerQuestion, answers: Mapping[str, Answer]) -> str:
    if unknown := answers.keys() - {field.name for field in question.fields}:
        return f"There is no field {min(unknown)}."
    for field in question.fields:
        if mistake := mistake_in(field, answers.get(field.name)):
            return f"{field.label}: {mistake}"
    return ""


def mistake_in(field: FormField, answer: Answer | None) -> str:
    """Return what is wrong with a field's answer, or with a missing one; empty if it can be sent."""
    if answer is None:
        return "This is needed." if field.is_required else ""
    match field.kind:
        case "text":
            return _in_text(field, answer)
        case "number" | "integer":
            return _in_number(field, answer)
        case "boolean":
            return "" if isinstance(answer, bool) else "This is yes or no."
        case "choice":
            return "" if answer in {option.value for option in field.options} else "Choose one of these."
        case "choices":
            return _in_choices(field, answer)
        case _:
            assert_never(field.kind)


def number_in(field: FormField, written: str) -> Answer:
    """Return the number in `written`, or the text itself if it is not a number, for `mistake_in` to report."""
    try:
        return int(written) if field.kind == "integer" else float(written)
    except ValueError:
        return written


def _in_text(field: FormField, answer: Answer) -> str:
    if not isinstance(answer, str):
        return "This is a text."
    if mistake := _out_of_bounds(field, len(answer), "characters"):
        return mistake
    match field.format:
        case "email":
            return "" if _EMAIL.fullmatch(answer) else "Write an e-mail address, such as name@example.org."
        case "uri":
            return "" if _is_address(answer) else "Write an address, such as https://example.org."
        case "date":
            return "" if _parses(date, answer) else "Write a date as 2026-01-31."
        case "date-time":
            return "" if _parses(datetime, answer) and "T" in answer else "Write date and time as 2026-01-31T12:00:00Z."
        case "":
            return ""
        case _:
            assert_never(field.format)


def _in_number(field: FormField, answer: Answer) -> str:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool) and abs(answer) <= LARGEST
    if not is_number or (field.kind == "integer" and not isinstance(answer, int)):
        return "Write a whole number." if field.kind == "integer" else "Write a number."
    assert isinstance(answer, int | float)
    return _out_of_bounds(field, answer, "")


def _in_choices(field: FormField, answer: Answer) -> str:
    if not isinstance(answer, tuple) or not {option.value for option in field.options}.issuperset(answer):
        return "Choose from these."
    return _out_of_bounds(field, len(answer), "choices")


def _out_of_bounds(field: FormField, amount: float, noun: str) -> str:
    unit = f" {noun}" if noun else ""
    if field.least is not None and amount < field.least:
        return f"At least {field.least:g}{unit}."
    if field.most is not None and amount > field.most:
        return f"At most {field.most:g}{unit}."
    return ""


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)


def _parses(kind: type[date], text: str) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


MOST_FIELDS = 30
MOST_OPTIONS = 200
LONGEST_MESSAGE = 2_000
LONGEST_LABEL = 200
LONGEST_VALUE = 2_000
LONGEST_ADDRESS = 4_000

_KINDS: dict[str, FieldKind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "choices",
}
_FORMATS: dict[str, FieldFormat] = {"email": "email", "uri": "uri", "date": "date", "date-time": "date-time"}
_BOUNDS: dict[FieldKind, tuple[str, str]] = {
    "text": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}


class UnaskableError(Exception):
    """The user cannot be asked the question. `str(error)` says why."""


def form_asked(server: str, message: str, schema: Mapping[str, object]) -> ServerQuestion:
    """Return the question whose form this JSON schema describes. Raises `UnaskableError`."""
    properties: object = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise UnaskableError("its form has no list of fields")
    fields = cast("dict[str, object]", properties)
    if len(fields) > MOST_FIELDS:
        raise UnaskableError(f"its form has more than {MOST_FIELDS} fields")
    required: object = schema.get("required", ())
    needed = cast("list[object]", required) if isinstance(required, list) else []
    return ServerQuestion(
        server=server,
        message=_message(message),
        fields=tuple(_field(name, field, is_required=name in needed) for name, field in fields.items()),
    )


def visit_asked(server: str, message: str, url: str) -> ServerQuestion:
    """Return the question whether to visit a page. Raises `UnaskableError`."""
    return ServerQuestion(server=server, message=_message(message), address=_address(url))


def _message(text: str) -> str:
    lines = [named(line) for line in text[:LONGEST_MESSAGE].split("\n")]
    return "\n".join(lines).strip() + ("…" if len(text) > LONGEST_MESSAGE else "")


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_known = False
    if not is_known or is_readable_on_the_way(url):
        raise UnaskableError("its address is neither https nor on this machine")
    if has_userinfo(url) or has_hidden(url) or not url.isascii() or " " in url or "\\" in url:
        raise UnaskableError("its address has a part that could make it read as another one")
    if len(url) > LONGEST_ADDRESS:
        raise UnaskableError(f"its address is longer than {LONGEST_ADDRESS:,} characters")
    return url


def _field(name: str, schema: object, *, is_required: bool) -> FormField:
    if not isinstance(schema, dict) or len(name) > LONGEST_LABEL or not is_encodable(name):
        raise UnaskableError("its form has a field that cannot be shown")
    said = cast("dict[str, Any]", schema)
    options = _options(said)
    kind = _KINDS.get(str(said.get("type")))
    if kind is None or (kind == "choices" and not options):
        raise UnaskableError("its form has a field of a kind that forms do not have")
    kind = "choice" if kind == "text" and options else kind
    least, most = (_number(said.get(bound)) for bound in _BOUNDS.get(kind, ("", "")))
    asked = FormField(
        name=name,
        label=_line(said.get("title") or name),
        kind=kind,
        description=_line(said.get("description"), LONGEST_VALUE),
        is_required=is_required,
        options=options,
        format=_FORMATS.get(str(said.get("format")), "") if kind == "text" else "",
        least=least,
        most=most,
    )
    return _with_default(asked, said.get("default"))


def _with_default(field: FormField, value: object) -> FormField:
    if isinstance(value, list):
        value = tuple(map(str, cast("list[object]", value)))
    if not isinstance(value, str | int | float | bool | tuple):
        return field
    default = cast("Answer", value)
    texts = default if isinstance(default, tuple) else (str(default),)
    if any(len(text) > LONGEST_VALUE or has_hidden(text) for text in texts) or mistake_in(field, default):
        return field
    return replace(field, default=default)


def _options(schema: Mapping[str, Any]) -> tuple[FormOption, ...]:
    items = schema.get("items")
    source = cast("Mapping[str, Any]", items) if isinstance(items, dict) else schema
    values = [value for value in _list(source.get("enum")) if isinstance(value, str)]
    names = [*map(_line, _list(schema.get("enumNames")))]
    options = [(value, names[at] if at < len(names) else "") for at, value in enumerate(values)]
    titled = [*_list(source.get("oneOf")), *_list(source.get("anyOf"))]
    both = [cast("dict[str, Any]", each) for each in titled if isinstance(each, dict)]
    options += [(each["const"], _line(each.get("title"))) for each in both if isinstance(each.get("const"), str)]
    if len(options) > MOST_OPTIONS:
        raise UnaskableError(f"its form has a field with more than {MOST_OPTIONS} values")
    if any(len(value) > LONGEST_VALUE or not is_encodable(value) for value, _ in options):
        raise UnaskableError("its form has a value that cannot be shown")
    return tuple(FormOption(value=value, label=label or _line(value)) for value, label in options)


def _line(text: object, longest: int = LONGEST_LABEL) -> str:
    if not isinstance(text, str):
        return ""
    return named(" ".join(text[:longest].split())) + ("…" if len(text) > longest else "")


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    return float(value) if is_number and isinstance(value, int | float) else None


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
