"""Every painter is ended explicitly, not by its last reference."""

import ast
from pathlib import Path

import desktop_agent.ui


def painters_left_open(tree: ast.AST) -> list[int]:
    nodes = list(ast.walk(tree))
    ended = {id(node.context_expr) for node in nodes if isinstance(node, ast.withitem)}
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "QPainter"
        and id(node) not in ended
    ]


def test_a_painter_ends_with_its_function() -> None:
    """The watchdog holds the window's frame while it writes: a painter in it would outlive the painting."""
    files = Path(desktop_agent.ui.__path__[0]).rglob("*.py")
    painting = [path for path in files if "QPainter(" in path.read_text(encoding="utf-8")]
    assert painting
    left_open = [
        f"{path.name}:{line}"
        for path in painting
        for line in painters_left_open(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert left_open == []
