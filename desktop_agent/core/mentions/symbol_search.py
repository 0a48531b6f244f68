"""Finds the definitions of a workspace whose name contains the typed text, and ranks them.

Ripgrep searches all files but ignored, hidden or secret ones; its matches are parsed in threads.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence

from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.base.matching import is_word_start
from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.core.mentions.mention_grammar import TypedMention, written
from desktop_agent.core.mentions.offers import MOST_OFFERED, SYMBOL_SOURCE, MentionOffer
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.search.symbols import (
    CODE_ENDINGS,
    LONGEST_LINE,
    FoundSymbol,
    can_be_a_name,
    likely_lines,
    symbol_in,
)
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.tools.files.ripgrep import SearchGround, prepare, run_ripgrep

MOST_COLLECTED = 2_000

_MOST_LINES = 50_000
_MOST_OF_A_FILE = 200
_SHORTEST = 2
"""How many letters must be typed before symbols are offered among files."""

Batch = Callable[[Sequence[FoundSymbol]], Awaitable[None]]


def name_typed(typed: TypedMention) -> str:
    """Return the typed part of a symbol's name; empty where no symbols are to be searched."""
    if typed.source not in ("", SYMBOL_SOURCE) or not can_be_a_name(typed.target):
        return ""
    return typed.target if typed.source or len(typed.target) >= _SHORTEST else ""


async def search_symbols(name: str, ground: SearchGround, found: Batch) -> bool:
    """Pass the symbols whose name contains `name` to `found`; return whether these are all. Raises `ToolError`."""
    command = await asyncio.to_thread(_command, name, ground)
    lines: list[bytes] = []
    came = asyncio.Event()
    count = looked_at = 0
    is_enough = False

    def collect(records: list[bytes]) -> bool:
        lines.extend(records)
        came.set()
        return not is_enough

    searching = asyncio.create_task(run_ripgrep(command, ground, separator=b"\n", on_records=collect))
    searching.add_done_callback(lambda _: came.set())
    try:
        while True:
            await came.wait()
            came.clear()
            is_over = searching.done()
            batch = lines[:_MOST_LINES]
            lines.clear()
            symbols = await asyncio.to_thread(_symbols_among, batch, name)
            looked_at += len(batch)
            count += len(symbols)
            is_enough = count >= MOST_COLLECTED or looked_at >= _MOST_LINES
            await found(symbols)
            if is_over or is_enough:
                break
    finally:
        searching.cancel()
        await asyncio.wait({searching})
    return not is_enough and not searching.result().is_stopped


def _command(name: str, ground: SearchGround) -> Command:
    options = [
        "--null",
        "--line-number",
        "--no-heading",
        "--with-filename",
        "--color=never",
        "--no-messages",
        "--ignore-case",
        f"--max-columns={LONGEST_LINE}",
        f"--max-count={_MOST_OF_A_FILE}",
        f"--type-add=code:*.{{{','.join(CODE_ENDINGS)}}}",
        "--type=code",
        *(f"--regexp={pattern}" for pattern in likely_lines(name)),
        "--",
        "./",
    ]
    return prepare(options, folder=ground.boundary.root, context=ground)


def _symbols_among(records: Sequence[bytes], name: str) -> list[FoundSymbol]:
    return with_name(filter(None, map(_symbol_of, records)), name)


def _symbol_of(record: bytes) -> FoundSymbol | None:
    name, _, found = record.partition(b"\0")
    number, _, line = found.decode("utf-8", "replace").partition(":")
    if not number.isdecimal():
        return None  # of a file with a line feed in its name
    path = os.fsdecode(name).removeprefix("./")
    path = path.replace("\\", "/") if os.name == "nt" else path
    defined = symbol_in(path, line.rstrip("\r"))
    if defined is None or sensitivity(path) is not None or has_hidden(legible_name(path)):
        return None  # also of a path that no mention can be written of
    return FoundSymbol(defined.kind, defined.name, legible_name(path), int(number))


def with_name(symbols: Iterable[FoundSymbol], name: str) -> list[FoundSymbol]:
    wanted = name.casefold()
    return [symbol for symbol in symbols if wanted in symbol.name.casefold()]


def symbol_offers(symbols: Sequence[FoundSymbol], name: str) -> tuple[MentionOffer, ...]:
    """Return the best symbols: exact matches first, then beginnings of names, then beginnings of words."""
    best = sorted(symbols, key=lambda symbol: _rank(symbol, name))[:MOST_OFFERED]
    return tuple(_offers_of(best, name, _ambiguous(symbols)))


def _rank(symbol: FoundSymbol, name: str) -> tuple[object, ...]:
    lower = symbol.name.casefold()
    place = lower.find(name.casefold())
    is_at_word = place > 0 and is_word_start(symbol.name, place)
    kind = 0 if symbol.name == name else 1 if lower == name.casefold() else 2 if place == 0 else 3 if is_at_word else 4
    return kind, len(symbol.name), symbol.name, len(symbol.path), symbol.path, symbol.line


def _ambiguous(symbols: Sequence[FoundSymbol]) -> Collection[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    return {key for symbol in symbols if (key := (symbol.path, symbol.name)) in seen or seen.add(key)}


def _offers_of(
    symbols: Sequence[FoundSymbol], name: str, ambiguous: Collection[tuple[str, str]]
) -> Iterator[MentionOffer]:
    for symbol in symbols:
        place = max(symbol.name.casefold().find(name.casefold()), 0)
        line = symbol.line if (symbol.path, symbol.name) in ambiguous else 0
        yield MentionOffer(
            kind=symbol.kind,
            label=symbol.name,
            written=written_symbol(symbol.name, symbol.path, line),
            detail=f"{symbol.path}:{symbol.line}",
            spans=((place, place + len(name)),),
            is_close=place == 0,
        )


def written_symbol(name: str, path: str, line: int = 0) -> str:
    """`line` is needed if the file has several definitions of that name."""
    return written(SYMBOL_SOURCE, f"{path}:{line}:{name}" if line else f"{path}:{name}")
