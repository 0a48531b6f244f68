"""Suggestions for a mention that is being typed, best first. Pure; meant to run in a thread."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import all_folders_above
from desktop_agent.core.base.matching import Match, PathIndex, Span, find_matches, is_word_start
from desktop_agent.core.base.plain_text import has_hidden, named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.server_status import OfferedResource, ResourceTemplate, ServerStatus
from desktop_agent.core.mentions.mention_grammar import TypedMention, written, written_path
from desktop_agent.core.search.symbols import SymbolKind

LONGEST_URI = 4_096
_LONGEST_NAME = 120
_ADDRESS = regex(r"[A-Za-z][A-Za-z0-9+.-]*:.+")
VARIABLE = regex(r"\{[+#./;?&]?([^{}]*)\}")
"""A part of a resource's address template that is still to be filled in, such as `{name}`."""


def find_resource(target: str, resources: Sequence[OfferedResource]) -> OfferedResource | None:
    """Return the resource that `target` names, by its address, its name or its title, in this order.

    An address that is not listed is accepted. Returns `None` if `target` is neither listed nor an address. Raises
    `UsageError` for an ambiguous name, and for an incomplete template.
    """
    for found in resources:
        if found.uri == target:
            return found
    alike = [found for found in resources if found.name == target] or [
        each for each in resources if each.title == target
    ]
    if len(alike) > 1:
        raise UsageError(f"{len(alike)} resources have that name.", hint="Mention one of them by its address.")
    if alike:
        return alike[0]
    if _ADDRESS.fullmatch(target) is None:
        return None
    if variable := VARIABLE.search(target):
        raise UsageError(f"`{named(variable[0])}` is still to be filled in.")
    if len(target) > LONGEST_URI:
        raise UsageError(f"Its address has more than {LONGEST_URI:,} characters.")
    return OfferedResource(uri=target, name=target)


def ways_to_mention(server: str, resources: Sequence[OfferedResource]) -> tuple[tuple[OfferedResource, str], ...]:
    """Return the resources with their mentions: by name, if unique and visible, or else by address."""
    names = Counter(found.name for found in resources)
    uris = {found.uri for found in resources}
    ways: list[tuple[OfferedResource, str]] = []
    for found in resources:
        is_clear = names[found.name] == 1 and found.name not in uris and len(found.name) <= _LONGEST_NAME
        if is_clear and found.name.strip() and _can_be_written(found.name):
            ways.append((found, written(server, found.name)))
        elif len(found.uri) <= LONGEST_URI and found.uri.strip() and _can_be_written(found.uri):
            ways.append((found, written(server, found.uri)))
    return tuple(ways)


SESSION_SOURCE = "session"
"""The source of mentions of sessions, unless an MCP server has that name."""

SYMBOL_SOURCE = "symbol"
"""The source of mentions of symbols, unless an MCP server has that name."""

MOST_OFFERED = 40
_MOST_OF_OTHERS = 4
_FIRST_PATHS = 5
_LONGEST_TEXT = 300

OfferKind = Literal["file", "folder", "session", "resource", "template", "source"] | SymbolKind


class MentionOffer(Struct, frozen=True, kw_only=True):
    kind: OfferKind
    label: str
    written: str
    detail: str = ""
    spans: tuple[Span, ...] = ()
    is_close: bool = True
    """Whether the typed text matches in one piece or at the beginnings of words."""

    @property
    def is_whole(self) -> bool:
        return self.kind not in ("template", "source")


class OfferedSession(Struct, frozen=True):
    id: str
    title: str
    folder: str


class FolderPaths:
    """The files and folders of a workspace, prepared for searching. Building it blocks."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.folders = frozenset(all_folders_above(files))
        self.files = frozenset(files)
        self._index = PathIndex([*files, *self.folders])
        top = {path.partition("/")[0] for path in chain(files, self.folders)}
        self._top = sorted(top, key=lambda name: (name not in self.folders, name.startswith("."), name.lower()))

    def has(self, path: str) -> bool:
        plain = path.removeprefix("./").removesuffix("/")
        return plain in self.files or plain in self.folders

    def offers(self, typed: str, limit: int) -> Iterator[MentionOffer]:
        if typed.endswith("/") and (within := typed.removesuffix("/")) in self.folders:
            below = (path for path in chain(sorted(self.folders), self.files) if path.rpartition("/")[0] == within)
            matches: Iterable[Match] = (
                Match(path, ()) for path in sorted(below, key=lambda path: (path not in self.folders, path))
            )
        elif typed:
            matches = self._index.find(typed, limit=limit + 10)
        else:
            matches = (Match(name, ()) for name in self._top)
        yield from islice((self._offer(match) for match in matches if _can_be_written(match.text)), limit)

    def _offer(self, match: Match) -> MentionOffer:
        is_folder = match.text in self.folders
        path = f"{match.text}/" if is_folder else match.text
        kind: OfferKind = "folder" if is_folder else "file"
        is_close = len(match.spans) < 2 or all(is_word_start(match.text, start) for start, _ in match.spans)
        return MentionOffer(kind=kind, label=path, written=written_path(path), spans=match.spans, is_close=is_close)


class MentionSources(Struct, frozen=True, kw_only=True):
    paths: FolderPaths
    sessions: tuple[OfferedSession, ...] = ()
    servers: tuple[ServerStatus, ...] = ()


def offers_for(typed: TypedMention, sources: MentionSources) -> tuple[MentionOffer, ...]:
    if typed.source:
        server = next((each for each in sources.servers if each.name == typed.source), None)
        if server is not None:
            return tuple(islice(_of_server(server, typed.target), MOST_OFFERED))
        is_session = typed.source == SESSION_SOURCE
        return tuple(_of_sessions(sources.sessions, typed.target, MOST_OFFERED)) if is_session else ()
    paths = list(sources.paths.offers(typed.target, MOST_OFFERED))
    others = list(_of_others(typed.target, sources))
    return tuple([*paths[:_FIRST_PATHS], *others, *paths[_FIRST_PATHS:]][:MOST_OFFERED])


def with_symbols(offers: Sequence[MentionOffer], symbols: Sequence[MentionOffer]) -> tuple[MentionOffer, ...]:
    """Insert `symbols` behind the best offers of every other kind."""
    others = [at for at, offer in enumerate(offers) if offer.kind not in ("file", "folder")]
    at = max(min(len(offers), _FIRST_PATHS), others[-1] + 1 if others else 0)
    return (*offers[:at], *symbols, *offers[at:])


def _of_others(typed: str, sources: MentionSources) -> Iterator[MentionOffer]:
    with_resources = [server for server in sources.servers if server.resources or server.templates]
    names = [server.name for server in with_resources]
    if sources.sessions and SESSION_SOURCE not in names:
        names.append(SESSION_SOURCE)
    if sources.paths.files and SYMBOL_SOURCE not in names:
        names.append(SYMBOL_SOURCE)
    if len(typed) <= max(map(len, names), default=0):
        for name in names:
            if name.lower().startswith(typed.lower()):
                yield MentionOffer(kind="source", label=f"{name}:", written=f"@{name}:", spans=((0, len(typed)),))
    if typed:
        for server in with_resources:
            yield from islice(_of_server(server, typed), _MOST_OF_OTHERS)
        yield from _of_sessions(sources.sessions, typed, _MOST_OF_OTHERS)


def _of_sessions(sessions: Sequence[OfferedSession], typed: str, limit: int) -> Iterator[MentionOffer]:
    titled: dict[str, list[OfferedSession]] = {}
    for session in sessions:
        if session.title and _can_be_written(session.title):
            titled.setdefault(session.title, []).append(session)
    titles = list(titled)
    found = find_matches(titles, typed, limit=limit).best if typed else [Match(title, ()) for title in titles[:limit]]
    for match in found:
        alike = titled[match.text]
        for session in alike:
            target = session.title if len(alike) == 1 else session.id
            yield MentionOffer(
                kind="session",
                label=session.title,
                written=written(SESSION_SOURCE, target),
                detail=session.folder,
                spans=match.spans,
            )


def _of_server(server: ServerStatus, typed: str) -> Iterator[MentionOffer]:
    ways = ways_to_mention(server.name, server.resources)
    labels = [shown_text(found.title or found.name) for found, _ in ways]
    for place, spans in _fitting(labels, [found.uri for found, _ in ways], typed):
        found, way = ways[place]
        detail = shown_text(found.description or found.uri)
        yield MentionOffer(kind="resource", label=labels[place], written=way, detail=detail, spans=spans)
    names = [shown_text(template.title or template.name) for template in server.templates]
    addresses = [template.uri_template for template in server.templates]
    for place, spans in _fitting(names, addresses, typed):
        beginning = VARIABLE.split(addresses[place], maxsplit=1)[0]
        if beginning and not has_hidden(beginning):
            yield MentionOffer(
                kind="template",
                label=names[place],
                written=written(server.name, beginning).removesuffix('"'),
                detail=shown_text(addresses[place]),
                spans=spans,
            )


def _fitting(labels: Sequence[str], addresses: Sequence[str], typed: str) -> list[tuple[int, tuple[Span, ...]]]:
    """Return index and match of each label that matches, or whose address begins with `typed`."""
    if not typed:
        return [(place, ()) for place in range(len(labels))]
    spans = {match.text: match.spans for match in find_matches(labels, typed, limit=MOST_OFFERED).best}
    best = {text: rank for rank, text in enumerate(spans)}
    places = [place for place, label in enumerate(labels) if label in spans or addresses[place].startswith(typed)]
    places.sort(key=lambda place: best.get(labels[place], len(best)))
    return [(place, spans.get(labels[place], ())) for place in places]


def _can_be_written(path: str) -> bool:
    return not (has_hidden(path) or "\n" in path or "\t" in path)


def shown_text(text: str) -> str:
    return " ".join(named(text[:_LONGEST_TEXT]).split())


class TypedPart(Struct, frozen=True):
    template: str
    name: str
    value: str
    before: str
    after: str
    """The text of the template between this part and the next."""
    others: tuple[tuple[str, str], ...]


def part_typed(target: str, templates: Sequence[ResourceTemplate]) -> TypedPart | None:
    """Return the part of a template that is being typed; `None` if there is none, or it is not simple (`{name}`)."""
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
