"""Mentioned symbols in whole turns, and finding symbols by a part of their name."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mentions import symbol_search
from desktop_agent.core.mentions.files import SymbolTarget
from desktop_agent.core.mentions.mention_grammar import TypedMention, mentions_in
from desktop_agent.core.mentions.symbol_search import (
    name_typed,
    search_symbols,
    symbol_offers,
    with_name,
    written_symbol,
)
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.search.symbols import FoundSymbol
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.files.ripgrep import SearchGround
from tests.core.mentions.test_resources import attached, refusal, sent, texts_of
from tests.harness import Ground

STORE = '''import json

MOST = 3


class Store:
    def load(self):
        return self.path.read_text()


class Cache:
    @timed
    def load(self):
        """From memory."""
        return self.kept

    def close(self):
        pass
'''


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.write("src/store.py", STORE)
    ground.write("web/store.ts", "export function close() {\r\n  return 1;\r\n}\r\n\r\nexport const LEAST = 1;\r\n")
    ground.write(".gitignore", "build/\n")
    ground.write("build/made.py", "def only_made():\n    pass\n")
    ground.write(".env", "KEY=1\n")
    ground.write("tool.py", b"\x7fELF\0\0")
    return ground


async def test_the_model_reads_the_lines_of_the_definition_and_where_they_stand(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, "Explain @symbol:src/store.py:close, please.")
        text, frame = texts_of(s.last_request.messages[-1])

    (attachment,) = prompt.attachments
    assert (attachment.kind, attachment.uri, attachment.lines) == ("file", "src/store.py", "17-18")
    assert attachment.text == "    def close(self):\n        pass"
    assert text == "Explain @symbol:src/store.py:close, please."
    assert '{"mention": "@symbol:src/store.py:close", "file": "src/store.py", "lines": "17-18"}' in frame


@pytest.mark.parametrize(
    ("mention", "place", "begins"),
    [
        ("@symbol:Store", "src/store.py:6-8", "class Store:\n    def load"),
        ("@symbol:MOST", "src/store.py:3", "MOST = 3"),
        ("@symbol:LEAST", "web/store.ts:5", "export const LEAST = 1;"),
        ("@symbol:web/store.ts:close", "web/store.ts:1-3", "export function close() {\n  return 1;\n}"),
        ("@symbol:src/store.py:load", "src/store.py:7-8", "    def load(self):\n        return self.path"),
        ("@symbol:src/store.py:14:load", "src/store.py:12-15", "    @timed\n    def load(self):\n"),
        ('@symbol:"src/store.py:Cache"', "src/store.py:11-18", "class Cache:\n    @timed"),
        ("@symbol:build/made.py:only_made", "build/made.py:1-2", "def only_made"),
    ],
)
async def test_a_symbol_is_named_with_its_file_and_its_line_where_it_is_needed(
    ground: Ground, mention: str, place: str, begins: str
) -> None:
    (found,) = await attached(ground, f"See {mention}.")

    assert f"{found.uri}:{found.lines}" == place
    assert found.text.startswith(begins)
    assert found.mention == mention


async def test_what_was_mentioned_was_read_so_it_can_be_edited(ground: Ground) -> None:
    edit = Call("edit_file", {"path": "src/store.py", "old_str": "MOST = 3", "new_str": "MOST = 4"})
    async with ground.session([[edit], [Say("ok")]], approval="on_request") as s:
        await sent(s, "Raise @symbol:MOST by one.")
    assert "MOST = 4" in (ground.workspace / "src/store.py").read_text()


@pytest.mark.parametrize(
    ("mention", "reason"),
    [
        ("@symbol:close", "2 definitions have that name. Mention one: `@symbol:src/store.py:close` or"),
        ("@symbol:load", "2 definitions have that name. Mention one: `@symbol:src/store.py:7:load` or"),
        ("@symbol:nothing_of_that_name", "The folder has no function, class or constant of that name."),
        ("@symbol:only_made", "The folder has no function, class or constant of that name."),
        ("@symbol:src/store.py:LEAST", "It is defined elsewhere: `@symbol:web/store.ts:LEAST`."),
        ("@symbol:src/store.py:Gone", "src/store.py defines nothing with that name."),
        ("@symbol:none.py:Store", "There is no such file in the folder"),
        ("@symbol:src:Store", "It is a folder"),
        ("@symbol:../other.py:Store", "outside the folder"),
        ("@symbol:.env:KEY", "often holds secrets"),
        ("@symbol:tool.py:KEY", "It is not a code file"),
        ("@symbol:a/b", "It names no function, class or constant."),
    ],
)
async def test_what_cannot_come_along_is_said_and_nothing_is_sent(ground: Ground, mention: str, reason: str) -> None:
    notice = await refusal(ground, f"See {mention}")
    assert f"`{mention}` could not be fetched, so the message was not sent." in notice.title
    assert reason in f"{notice.title} {notice.hint}"


async def test_of_a_long_definition_the_model_reads_the_beginning(ground: Ground) -> None:
    ground.write("long.py", "class Long:\n" + "".join(f"    x{number} = {number}\n" for number in range(20_000)))

    (found,) = await attached(ground, "@symbol:long.py:Long")

    assert found.text.startswith("class Long:\n    x0 = 0\n")
    assert len(found.text.encode()) < 102_400
    assert found.text.endswith("or search the file with grep.]")


_NAMES = st.from_regex(r"[A-Za-z_$][\w$]{0,8}[?!]?", fullmatch=True)
_PATHS = st.lists(st.from_regex(r"[\w .,:'\"()#-]{1,9}", fullmatch=True), min_size=1, max_size=3).map("/".join)


@given(_NAMES, _PATHS.filter(lambda path: ":" not in path and path.strip() == path), st.sampled_from([0, 7]))
def test_a_mention_is_read_as_it_is_written(name: str, path: str, line: int) -> None:
    (read,) = mentions_in(f"See {written_symbol(name, path, line)} now")
    assert SymbolTarget.read(read.target) == SymbolTarget(name, path, line)


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
async def code(tmp_path: Path) -> AsyncGenerator[SearchGround]:
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
    code: SearchGround,
) -> None:
    found = Found()
    is_whole = await search_symbols("PARSE", code, found.add)

    assert is_whole
    assert {(each.kind, each.name, each.path, each.line) for each in found.symbols} == {
        ("function", "parse", "src/parse.py", 1),
        ("class", "ReParse", "src/parse.py", 5),
        ("function", "parse", "src/parse.py", 6),
        ("class", "Parser", "web/parser.ts", 1),
        ("function", "parse", "web/parser.ts", 2),
        ("function", "parse_all", "lib/parse.c", 1),
    }


async def test_the_whole_name_comes_first_then_beginnings_and_words(code: SearchGround) -> None:
    found = Found()
    await search_symbols("parse", code, found.add)
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
    code: SearchGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_search, "MOST_COLLECTED", 3)
    for number in range(50):
        (code.boundary.root / f"{number}.py").write_text("def find_me():\n" * 50)
    found = Found()

    assert not await search_symbols("find_me", code, found.add)
    assert len(found.symbols) >= 3


async def test_a_search_that_is_cancelled_has_ended(code: SearchGround) -> None:
    for number in range(300):
        (code.boundary.root / f"{number}.py").write_text("def find_me():\n" * 100)
    began = asyncio.Event()

    async def wait(_: Sequence[FoundSymbol]) -> None:
        began.set()
        await asyncio.Event().wait()

    searching = asyncio.create_task(search_symbols("find_me", code, wait))
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


async def test_a_definition_in_a_file_whose_name_is_not_utf8_is_found_and_brought(
    code: SearchGround, ground: Ground
) -> None:
    ground.write(os.fsdecode(b"caf\xe9.py"), "def brew_coffee():\n    return 1\n")
    found = Found()
    ground_of_search = SearchGround(Boundary(ground.workspace), code.processes, code.environ)
    await search_symbols("brew_coffee", ground_of_search, found.add)
    (symbol,) = found.symbols
    assert symbol.path == r'"caf\351.py"'
    async with ground.session([[Say("ok")]]) as s:
        prompt = await sent(s, f"Explain {written_symbol(symbol.name, symbol.path, symbol.line)}.")
    assert [attachment.text for attachment in prompt.attachments] == ["def brew_coffee():\n    return 1"]
