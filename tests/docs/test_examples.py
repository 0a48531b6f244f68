"""The examples of the documents run as they stand there."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "fix_and_undo.py"
PROJECT = ROOT / "resources" / "demo" / "pagination"


async def test_the_example_fixes_the_demo_project_and_takes_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("fix_and_undo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    before = {path: path.read_bytes() for path in PROJECT.rglob("*.py")}

    async with asyncio.timeout(60):
        await example.main(PROJECT)

    printed = capsys.readouterr().out
    assert "modified pagination/pages.py +1 -2" in printed
    assert "All **5** tests pass." in printed
    assert "Undo: pagination/pages.py restored" in printed
    assert {path: path.read_bytes() for path in PROJECT.rglob("*.py")} == before


@pytest.mark.parametrize("example", sorted(EXAMPLE.parent.glob("*.py")), ids=lambda path: path.stem)
def test_the_library_document_shows_every_example_as_it_is(example: Path) -> None:
    document = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert f"```python\n{example.read_text(encoding='utf-8')}```" in document
