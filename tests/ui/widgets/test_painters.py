"""Every painter is ended where it began, not when its last reference goes."""

import ast
from pathlib import Path

import desktop_agent.ui


def painters(function: ast.FunctionDef) -> int:
    """How many painters a function makes by calling the class with what to paint on."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "QPainter"
        for node in ast.walk(function)
    )


def ends(function: ast.FunctionDef) -> int:
    """How many things it ends."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "end"
        for node in ast.walk(function)
    )


def test_a_painter_ends_with_its_function() -> None:
    """The watchdog holds the window's frame while it writes it down: a painter in it would outlive the painting."""
    left_open = [
        f"{path.name}: {node.name}"
        for path in Path(desktop_agent.ui.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and painters(node) > ends(node)
    ]
    assert left_open == []
