"""Validates answers to a server's form, with messages for the user."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import assert_never
from urllib.parse import urlsplit

from desktop_agent.core.protocol.model import Answer, FormField, ServerQuestion

LARGEST = 2**53

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


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
