"""The public names: what programs import, what the import costs, and that the examples need no other names."""

import ast
import re
from pathlib import Path

import pytest

import desktop_agent
from desktop_agent import api
from tests.core.test_imports import HEAVY, QT, loaded_after

ROOT = Path(__file__).parents[2]
NAMES = {name for name in vars(api) if not name.startswith("_")}
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def test_the_package_hands_out_the_names_of_the_library_and_no_other() -> None:
    assert {*desktop_agent.__all__} - {"__version__"} == NAMES
    assert all(getattr(desktop_agent, name) is getattr(api, name) for name in NAMES)
    assert set(dir(desktop_agent)) >= NAMES
    with pytest.raises(AttributeError, match="no attribute 'Workbank'"):
        _ = desktop_agent.Workbank  # pyright: ignore[reportAttributeAccessIssue] - what is shown


def test_importing_the_package_imports_nothing_else() -> None:
    assert loaded_after("import desktop_agent", *HEAVY, "desktop_agent.api", "desktop_agent.core", "argparse") == []


def test_the_library_takes_no_qt_and_no_sdk() -> None:
    program = "from desktop_agent import Agent, tool\nAgent()"
    assert loaded_after(program, *QT, "anthropic", "openai", "mcp", "desktop_agent.ui", "desktop_agent.app") == []


def test_the_types_of_the_package_are_for_everybody() -> None:
    assert (Path(desktop_agent.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_imports_only_the_package_and_the_standard_library(example: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(example.read_bytes())):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert {name for name in imported if name.startswith("desktop_agent")} == {"desktop_agent"}


def test_the_library_document_names_every_public_name() -> None:
    document = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if re.search(rf"\b{name}\b", document) is None] == []
