"""The public surface of the library, a line for each thing that a program can name: read from the source, not imported.

The list that it is compared with is `tests/goldens/library_surface.txt`. To write it anew:

    python packaging/tools/library_surface.py
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "goldens" / "library_surface.txt"
_API = "desktop_agent.api"
_SPECIAL = frozenset({"__init__", "__call__", "__aenter__", "__aexit__"})
_FOR_THE_AGENT = frozenset({"Changes.__init__", "Changes.hear", "Changes.fail"})
"""What an agent calls of its own parts."""

_ELSEWHERE = frozenset({"Settings"})
"""Classes whose parts have a list of their own: `tests/goldens/names/settings.txt`."""

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign
Function = ast.FunctionDef | ast.AsyncFunctionDef


def surface() -> Iterator[str]:
    """Every name of the library, with its fields, methods, signatures and defaults."""
    for name in _exported():
        found = _definition(_API, name)
        if found is None:
            yield f"{name}: module"
            continue
        module, node = found
        match node:
            case ast.ClassDef():
                yield f"class {_heading(node)}"
                members = _members(module, node) if name not in _ELSEWHERE else {}
                lines = [f"{name}.{line}" for member in sorted(members) for line in members[member]]
                yield from (line for line in lines if line.partition(" ")[0] not in _FOR_THE_AGENT)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _overloads(module, name)
            case ast.Assign() | ast.AnnAssign():
                assert node.value is not None
                yield f"{name} = {ast.unparse(node.value)}"


def _exported() -> list[str]:
    imports = (node for node in _tree(_API).body if isinstance(node, ast.ImportFrom))
    return sorted(alias.name for node in imports for alias in node.names)


def _heading(node: ast.ClassDef) -> str:
    bases = ", ".join(map(ast.unparse, node.bases))
    return f"{node.name}({bases})" if bases else node.name


def _members(module: str, node: ast.ClassDef) -> dict[str, list[str]]:
    """The fields, methods and attributes of a class, and of those of ours that it is derived from, by their names."""
    found: dict[str, list[str]] = {}
    attributes: list[str] = []
    overloaded = {each.name for each in node.body if isinstance(each, Function) and "@overload" in _marks(each)}
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=field)) if not field.startswith("_"):
                default = f" = {ast.unparse(each.value)}" if each.value is not None else ""
                found[field] = [f"{field}: {ast.unparse(each.annotation)}{default}"]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name == "__init__":
                    attributes = list(_attributes(each))
                is_public = not name.startswith("_") or name in _SPECIAL
                if is_public and (name not in overloaded or "@overload" in _marks(each)):
                    found.setdefault(name, []).append(_signature(each))
            case _:
                pass
    for base in node.bases:
        origin = _definition(module, ast.unparse(base).partition("[")[0])
        if origin is not None and isinstance(origin[1], ast.ClassDef):
            found = _members(origin[0], origin[1]) | found
    return {field: [f"{field}: attribute"] for field in attributes} | found


def _attributes(init: Function) -> Iterator[str]:
    """The public attributes that an object gets when it is made."""
    for each in ast.walk(init):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and not each.attr.startswith("_"):
            yield each.attr


def _overloads(module: str, name: str) -> Iterator[str]:
    every = [node for node in _tree(module).body if isinstance(node, Function) and node.name == name]
    yield from map(_signature, [node for node in every if "@overload" in _marks(node)] or every)


def _signature(node: Function) -> str:
    kept = " ".join(mark for mark in _marks(node) if mark in ("@property", "@classmethod", "@staticmethod"))
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name} {kept + ' ' if kept else ''}{word} ({ast.unparse(node.args)}){result}"


def _marks(node: Function) -> list[str]:
    return [f"@{ast.unparse(each)}" for each in node.decorator_list]


def _definition(module: str, name: str) -> tuple[str, Definition] | None:
    """Return what a name of a module is, and where that is written; none for a module, and for what others wrote."""
    for node in _tree(module).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                return module, node
            case ast.Assign() | ast.AnnAssign() if _targets(node) == [name]:
                return module, node
            case ast.ImportFrom(module=str(origin), names=[ast.alias(name="*")]):
                if (found := _definition(origin, name)) is not None:
                    return found
            case ast.ImportFrom(module=str(origin)) if origin.startswith("desktop_agent"):
                if any((alias.asname or alias.name) == name for alias in node.names):
                    is_module = _path(f"{origin}.{name}") is not None
                    return None if is_module else _definition(origin, name)
            case _:
                pass
    return None


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    assert path is not None, module
    return ast.parse(path.read_bytes())


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(surface()) + "\n", "utf-8")
