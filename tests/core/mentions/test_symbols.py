"""Symbols that a prompt mentions, through whole turns: their definitions as they are, by the rules for their files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.mentions.files import SymbolTarget
from desktop_agent.core.mentions.mention_grammar import mentions_in
from desktop_agent.core.mentions.symbol_search import written_symbol
from desktop_agent.core.providers.scripted import Call, Say
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
        ("@symbol:src/store.py:Gone", "src/store.py defines nothing of that name."),
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
