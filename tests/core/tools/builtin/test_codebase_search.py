"""`codebase_search`: every parameter, every error, and an index that never blocks."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin import codebase_search as module
from desktop_agent.core.tools.builtin.codebase_search import CodebaseSearch
from tests.core.tools.conftest import Workspace


def is_pem(path: str) -> bool:
    return path.endswith(".pem")


@pytest.fixture
async def tool(tmp_path: Path) -> AsyncIterator[CodebaseSearch]:
    tool = CodebaseSearch(tmp_path / "cache", is_secret=is_pem)
    yield tool
    await tool.aclose()


@pytest.fixture
def project(work: Workspace) -> Workspace:
    work.write("src/session_store.py", "import os\n\n\nclass SessionStore:\n    def resume(self):\n        return 1\n")
    work.write("src/widget.ts", "export class PaintedWidget {\n}\n")
    work.write("docs/begin.md", "# Begin\nSessions are listed on the left.\n")
    for path in (".hidden/x.py", "build/x.py", "node_modules/x.py", ".git/x.py"):
        work.write(path, "resume sessions")
    work.write(".gitignore", "build/\n")
    return work


async def test_passages_come_best_first_with_place_and_names(project: Workspace, tool: CodebaseSearch) -> None:
    """T-35, T-29, Z-113."""
    result = await project.call(tool, query="Where are sessions resumed?")
    first, second = json.loads(result.content)
    assert first == {
        "path": "src/session_store.py",
        "start_line": 1,
        "end_line": 6,
        "score": first["score"],
        "snippet": "import os\n\n\nclass SessionStore:\n    def resume(self):\n        return 1",
        "symbols": ["SessionStore", "resume"],
    }
    assert second["path"] == "docs/begin.md"
    assert first["score"] > second["score"] > 0
    assert result.metadata == {
        "results": 2,
        "indexed_files": 3,
        "truncated": False,
        "matches": [
            {"path": "src/session_store.py", "line": 1, "text": "import os"},
            {"path": "docs/begin.md", "line": 1, "text": "# Begin"},
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"target_directory": "docs"}, ["docs/begin.md"]),
        ({"glob": "*.py"}, ["src/session_store.py"]),
        ({"glob": "src/**"}, ["src/session_store.py"]),
        ({"target_directory": "src", "glob": "*.py"}, ["src/session_store.py"]),
        ({"max_results": 1}, ["src/session_store.py"]),
    ],
)
async def test_every_parameter_counts(
    project: Workspace, tool: CodebaseSearch, arguments: dict[str, Any], expected: list[str]
) -> None:  # T-35, Z-60
    answer = await project.answer(tool, query="sessions resume", **arguments)
    assert [result["path"] for result in answer] == expected


async def test_what_changed_since_the_last_answer_counts(project: Workspace, tool: CodebaseSearch) -> None:
    assert (await project.answer(tool, query="gadget"))[0]["note"].startswith("nothing matches")
    project.write("src/gadget.py", "def turn(): ...\n")
    (project.root / "docs/begin.md").unlink()
    assert [result["path"] for result in await project.answer(tool, query="gadget")] == ["src/gadget.py"]
    assert [result["path"] for result in await project.answer(tool, query="listed session")] == ["src/session_store.py"]


async def test_what_was_left_out_is_said_and_secrets_are_not_read(
    project: Workspace, tool: CodebaseSearch, tmp_path: Path
) -> None:
    project.write("key.pem", "resume hunter2")
    (project.root / "link.py").symlink_to("src/session_store.py")
    project.write("data.bin", b"resume\0")
    project.write("big.sql", "resume\n" * 200_000)
    *results, last = await project.answer(tool, query="resume")
    assert [result["path"] for result in results] == ["src/session_store.py"]
    assert last == {"note": "files not searched: 1 binary, 1 larger than 1 MiB, 1 secret."}
    (index,) = (tmp_path / "cache/index").glob("*.sqlite3")
    assert b"hunter2" not in index.read_bytes()


@pytest.mark.parametrize("query", ['"', "*", "🙂", " ", "?!", "\"'()*^-:{}", "___"])
async def test_a_query_without_words_is_refused(project: Workspace, tool: CodebaseSearch, query: str) -> None:
    with pytest.raises(ToolError, match="no words") as caught:
        await project.call(tool, query=query)
    assert caught.value.error_type == "validation"


class Gate:
    """Holds an update at its first file until the gate is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def is_secret(self, _: str) -> bool:
        self.reached.set()
        assert self.opened.wait(30)
        return False


@pytest.fixture
async def gated(tmp_path: Path) -> AsyncIterator[tuple[CodebaseSearch, Gate]]:
    gate = Gate()
    tool = CodebaseSearch(tmp_path / "cache", is_secret=gate.is_secret)
    yield tool, gate
    gate.opened.set()
    await tool.aclose()


async def test_an_answer_waits_for_the_index_and_shows_how_far_it_is(
    project: Workspace, gated: tuple[CodebaseSearch, Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, gate = gated
    monkeypatch.setattr(module, "SHOWN_EVERY_S", 0.01)
    monkeypatch.setattr(module, "_FEW", -1)
    asking = asyncio.create_task(project.call(tool, query="resume"))
    assert await asyncio.to_thread(gate.reached.wait, 30)
    assert not asking.done()
    gate.opened.set()
    assert "session_store" in (await asking).content


async def test_an_answer_that_cannot_wait_says_what_is_missing_and_the_update_goes_on(
    project: Workspace, gated: tuple[CodebaseSearch, Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, gate = gated
    first = asyncio.create_task(project.call(tool, query="resume"))
    assert await asyncio.to_thread(gate.reached.wait, 30)  # by now the update knows how many files there are
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    with monkeypatch.context() as hurried:
        hurried.setattr(module, "MOST_WAITED_S", 0.02)
        hurried.setattr(module, "SHOWN_EVERY_S", 0.01)
        (note,) = await project.answer(tool, query="resume")
    assert "not complete yet (0 of 3 files)" in note["note"]
    gate.opened.set()
    assert (await project.answer(tool, query="resume"))[0]["path"] == "src/session_store.py"


async def test_closing_stops_the_update(project: Workspace, gated: tuple[CodebaseSearch, Gate]) -> None:
    tool, gate = gated
    asking = asyncio.create_task(project.call(tool, query="resume"))
    assert await asyncio.to_thread(gate.reached.wait, 30)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    closing = asyncio.create_task(tool.aclose())
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.wait_for(closing, 30)


async def test_calls_side_by_side_share_one_update(project: Workspace, tool: CodebaseSearch) -> None:
    """C-05: reading calls run side by side."""
    answers = await asyncio.gather(*(project.answer(tool, query="resume") for _ in range(8)))
    assert {answer[0]["path"] for answer in answers} == {"src/session_store.py"}


async def test_a_damaged_index_is_made_anew_without_a_word(
    project: Workspace, tool: CodebaseSearch, tmp_path: Path
) -> None:
    await project.call(tool, query="resume")
    (file,) = (tmp_path / "cache/index").glob("*.sqlite3")
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert (await project.answer(tool, query="resume"))[0]["path"] == "src/session_store.py"


async def test_an_index_that_cannot_be_kept_in_its_place_is_kept_in_a_spare_one(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "occupied").write_text("")
    tool = CodebaseSearch(tmp_path / "occupied", is_secret=is_pem)
    assert (await project.answer(tool, query="resume"))[0]["path"] == "src/session_store.py"
    await tool.aclose()


async def test_an_index_that_cannot_be_kept_anywhere_is_said_with_a_way_on(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    (tmp_path / "occupied").write_text("")
    tool = CodebaseSearch(tmp_path / "occupied", is_secret=is_pem)
    with pytest.raises(ToolError, match=r"could not be used.*Use grep"):
        await project.call(tool, query="resume")
    await tool.aclose()


async def test_an_answer_has_a_limit_in_bytes(work: Workspace, tool: CodebaseSearch) -> None:
    for number in range(60):
        work.write(f"file{number}.txt", ("gadget " + "ö" * 300 + "\n") * 30)
    result = await work.call(tool, query="gadget", max_results=50)
    assert len(result.content.encode()) < 102_400
    assert "fit in an answer" in json.loads(result.content)[-1]["note"]
    assert result.metadata["truncated"] is True
