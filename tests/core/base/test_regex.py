import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import desktop_agent
from desktop_agent.core.base.regex import regex

PACKAGE = Path(desktop_agent.__file__).parent
ALONE = PACKAGE / "core" / "sandbox" / "landlock_launcher.py"
"""It runs in the sandbox, where it can import nothing of ours."""


def test_a_declared_pattern_works_like_a_compiled_one() -> None:
    declared, compiled = regex(r"(\w)-(?P<last>\d)", re.IGNORECASE), re.compile(r"(\w)-(?P<last>\d)", re.IGNORECASE)
    for _ in range(2):
        match = declared.search("an A-1")
        assert match is not None
        assert match["last"] == "1"
        assert declared.sub("x", "A-1 b-2") == compiled.sub("x", "A-1 b-2")
        assert [found.span() for found in declared.finditer("A-1 b-2")] == [(0, 3), (4, 7)]
    assert (declared.pattern, declared.flags, declared.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert regex(rb"\d").fullmatch(b"1")


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    declared = regex("(")
    with pytest.raises(re.error):
        declared.match("")


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path != ALONE]
    calls = [(path, call) for path in modules for call in _at_import(ast.parse(path.read_text(encoding="utf-8")))]
    found = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}" for path, call in calls if ast.unparse(call.func) == "re.compile"
    ]
    assert found == [], "declare it with `core/base/regex.py`"


def _at_import(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls outside functions."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(inner, ast.Call):
            yield inner
        yield from _at_import(inner)
