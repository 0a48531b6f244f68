"""Symbols are found by a part of their name in the files that count, the best first, and a search ends when asked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mentions import symbol_search
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.mentions.symbol_search import name_typed, search_symbols, symbol_offers, with_name
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.search.symbols import FoundSymbol
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.files.ripgrep import SearchGround

FILES = {
    "src/parse.py": "def parse(text):\n    pass\n\n\nclass ReParse:\n    def parse(self):\n        parse(text)\n",
    "web/parser.ts": "export class Parser {\n  parse(text) {\n  }\n}\n",
    "lib/parse.c": "int parse_all(char *text)\n{\n\treturn parse(text);\n}\n",
    "notes.md": "# How to parse\ndef parse(text):\n",
    ".gitignore": "build/\n",
    "build/parse.py": "def parse_made():\n",
    "node_modules/parse.js": "function parseMore() {\n",
    ".hidden/parse.py": "def parse_hidden():\n",
    ".ssh/parse.py": "def parse_key():\n",
    "credentials.py": "def parse_key():\n",
}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncGenerator[SearchGround]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    processes = ProcessRunner(SystemClock())
    yield SearchGround(Boundary(tmp_path), processes, child_environment({}))
    await processes.aclose()


class Found:
    def __init__(self) -> None:
        self.symbols: list[FoundSymbol] = []

    async def add(self, symbols: Sequence[FoundSymbol]) -> None:
        self.symbols += symbols


async def test_definitions_are_found_in_code_that_is_neither_ignored_nor_hidden_nor_secret(
    ground: SearchGround,
) -> None:
    found = Found()
    is_whole = await search_symbols("PARSE", ground, found.add)

    assert is_whole
    assert {(each.kind, each.name, each.path, each.line) for each in found.symbols} == {
        ("function", "parse", "src/parse.py", 1),
        ("class", "ReParse", "src/parse.py", 5),
        ("function", "parse", "src/parse.py", 6),
        ("class", "Parser", "web/parser.ts", 1),
        ("function", "parse", "web/parser.ts", 2),
        ("function", "parse_all", "lib/parse.c", 1),
    }


async def test_the_whole_name_comes_first_then_beginnings_and_words(ground: SearchGround) -> None:
    found = Found()
    await search_symbols("parse", ground, found.add)
    offers = symbol_offers(found.symbols, "parse")

    assert [(offer.label, offer.kind, offer.detail) for offer in offers] == [
        ("parse", "function", "src/parse.py:1"),
        ("parse", "function", "src/parse.py:6"),
        ("parse", "function", "web/parser.ts:2"),
        ("Parser", "class", "web/parser.ts:1"),
        ("parse_all", "function", "lib/parse.c:1"),
        ("ReParse", "class", "src/parse.py:5"),
    ]
    assert [offer.written for offer in offers[:3]] == [
        "@symbol:src/parse.py:1:parse",
        "@symbol:src/parse.py:6:parse",
        "@symbol:web/parser.ts:parse",
    ]
    assert [offer.is_close for offer in offers] == [True] * 5 + [False]
    assert (offers[-1].spans, offers[0].is_whole) == (((2, 7),), True)


async def test_a_search_ends_with_more_than_anybody_looks_through(
    ground: SearchGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_search, "MOST_COLLECTED", 3)
    for number in range(50):
        (ground.boundary.root / f"{number}.py").write_text("def find_me():\n" * 50)
    found = Found()

    assert not await search_symbols("find_me", ground, found.add)
    assert len(found.symbols) >= 3


async def test_a_search_that_is_cancelled_has_ended(ground: SearchGround) -> None:
    for number in range(300):
        (ground.boundary.root / f"{number}.py").write_text("def find_me():\n" * 100)
    began = asyncio.Event()

    async def wait(_: Sequence[FoundSymbol]) -> None:
        began.set()
        await asyncio.Event().wait()

    searching = asyncio.create_task(search_symbols("find_me", ground, wait))
    await began.wait()
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def test_of_what_was_found_a_longer_name_leaves_less() -> None:
    symbols = [FoundSymbol("function", name, "a.py", 1) for name in ("load", "loadAll", "unload")]

    assert [each.name for each in with_name(symbols, "LOADA")] == ["loadAll"]


def test_symbols_are_looked_for_from_two_letters_of_a_name_on() -> None:
    typed = {"l": "", "lo": "lo", "lo/": "", "lo.py": "", "": ""}

    assert {each: name_typed(TypedMention(0, "", each)) for each in typed} == typed
    assert name_typed(TypedMention(0, "symbol", "l")) == "l"
    assert name_typed(TypedMention(0, "symbol", "")) == ""
    assert name_typed(TypedMention(0, "docs", "load")) == ""
