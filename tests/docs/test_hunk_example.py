"""The example that takes one hunk back runs as it stands in the document."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "one_hunk_back.py"


async def test_the_example_takes_one_hunk_back_and_applies_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("one_hunk_back", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    async with asyncio.timeout(60):
        await example.main(tmp_path)

    printed = capsys.readouterr().out
    assert printed.startswith("modified poem.txt +2 -2, standing\ndiff --git a/poem.txt b/poem.txt\n")
    assert printed.endswith("undo: poem.txt restored, 1 of 2\nredo: poem.txt restored, 2 of 2\n")
