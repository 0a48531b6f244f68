"""Filling in the address of a resource that a server has a template for, part by part."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import Struct

from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.core.mcp.server_status import ResourceTemplate
from desktop_agent.core.mentions.grammar import written
from desktop_agent.core.mentions.matching import VARIABLE
from desktop_agent.core.mentions.offers import MOST_OFFERED, MentionOffer, OfferKind, shown_text


class TypedPart(Struct, frozen=True):
    """The part of a template that is being typed."""

    template: str
    name: str
    value: str
    before: str
    """What stands before it."""
    after: str
    """What the template has behind it, up to the next part."""
    others: tuple[tuple[str, str], ...]
    """The parts before it."""


def part_typed(target: str, templates: Sequence[ResourceTemplate]) -> TypedPart | None:
    """Return which part of which template is being typed; None where none is, or it is not a simple one (`{name}`)."""
    for template in templates:
        if (part := _part_of(template.uri_template, target)) is not None:
            return part
    return None


def _part_of(template: str, target: str) -> TypedPart | None:
    variables = list(VARIABLE.finditer(template))
    at, begin = 0, 0
    known: list[tuple[str, str]] = []
    for index, variable in enumerate(variables):
        literal = template[begin : variable.start()]
        if variable[0] != f"{{{variable[1]}}}" or not target.startswith(literal, at):
            return None
        at += len(literal)
        begin = variable.end()
        end = variables[index + 1].start() if index + 1 < len(variables) else len(template)
        after = template[begin:end]
        place = target.find(after, at) if after else -1
        if place < 0:
            return TypedPart(template, variable[1], target[at:], target[:at], after, tuple(known))
        known.append((variable[1], target[at:place]))
        at = place
    return None


def completed(server: str, part: TypedPart, values: Iterable[str]) -> tuple[MentionOffer, ...]:
    """Return the offers for what a server says that a part may be."""
    last = not VARIABLE.search(part.template[part.template.find(f"{{{part.name}}}") + len(part.name) + 2 :])
    offers: list[MentionOffer] = []
    for value in islice(values, MOST_OFFERED):
        if has_hidden(value) or not value or re.search(r"\s", value):
            continue
        way = written(server, f"{part.before}{value}{part.after}")
        kind: OfferKind = "resource" if last else "template"
        spans = ((0, len(part.value)),) if part.value and value.startswith(part.value) else ()
        way = way if last else way.removesuffix('"')
        offers.append(MentionOffer(kind=kind, label=shown_text(value), written=way, detail=part.name, spans=spans))
    return tuple(offers)
