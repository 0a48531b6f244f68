import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PROJECT = ROOT / "resources" / "demo" / "pagination"


async def printed_by(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    async with asyncio.timeout(60):
        await example.main(folder)
    return capsys.readouterr().out


async def test_the_example_fixes_the_demo_project_and_takes_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in PROJECT.rglob("*.py")}
    printed = await printed_by("fix_and_undo", PROJECT, capsys)
    assert "modified pagination/pages.py +1 -2" in printed
    assert "All **5** tests pass." in printed
    assert "Undo: pagination/pages.py restored" in printed
    assert {path: path.read_bytes() for path in PROJECT.rglob("*.py")} == before


async def test_the_example_takes_one_hunk_back_and_applies_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = await printed_by("one_hunk_back", tmp_path, capsys)
    assert printed.startswith("modified poem.txt +2 -2, standing\ndiff --git a/poem.txt b/poem.txt\n")
    assert printed.endswith("undo: poem.txt restored, 1 of 2\nredo: poem.txt restored, 2 of 2\n")


async def test_the_example_calls_tools_of_its_own_and_gets_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = await printed_by("own_tools", tmp_path, capsys)
    first, second, *lines = (line.partition(".")[0] for line in printed.splitlines())
    assert {first, second} == {  # they are called at once
        "failed: There is no ticket 9; there are [7, 8]",
        'completed: {"number":8,"title":"Slow query","severity":"high"}',
    }
    assert lines == [
        "completed: #8 is with data now",
        "failed: The user denied this call; it was not run",
        "Ticket(number=8, title='Slow query', severity='high')",
    ]
    assert (tmp_path / "app" / "notes.txt").exists()


async def test_the_example_takes_the_first_answer_of_several_agents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = await printed_by("several_agents", tmp_path, capsys)
    assert "What ran: grep -rn TODO src]" in printed
    assert "TODO: rename" in printed
    assert "milk" not in printed
    assert printed.endswith("Rename x.\n" + "What is left to do here?: idle\n" * 2)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_library_document_shows_every_example_as_it_is(example: Path) -> None:
    document = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert f"```python\n{example.read_text(encoding='utf-8')}```" in document
