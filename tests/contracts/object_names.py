"""The object names that the code sets, read from its syntax: `setObjectName` calls and whatever hands them a name.

A name that is put together (`f"setting_{key}"`) counts as a pattern, `setting_*`.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnreadableNameError(Exception):
    """An object name that this module cannot read from the code: write it plainly, or teach this module the way."""


@dataclass(frozen=True, slots=True)
class _Module:
    path: Path
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict[ast.AST, ast.AST])

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses `node`, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node


class _Package:
    """All modules, with an index of what is called and of what is derived from what."""

    def __init__(self, folder: Path) -> None:
        self.home: dict[ast.AST, _Module] = {}
        self._calls: dict[str, list[tuple[_Module, ast.Call]]] = {}
        self._subclasses: dict[str, set[str]] = {}
        for path in sorted(folder.rglob("*.py")):
            if b"PySide6" in (source := path.read_bytes()):
                self._take_in(_Module(path, ast.parse(source)))

    def _take_in(self, module: _Module) -> None:
        for node in ast.walk(module.tree):
            for child in ast.iter_child_nodes(node):
                module.parents[child] = node
            match node:
                case ast.Call():
                    self._calls.setdefault(_called(node), []).append((module, node))
                case ast.ClassDef(name=name, bases=bases):
                    for base in bases:
                        self._subclasses.setdefault(_last_part(base), set()).add(name)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.home[node] = module
                case _:
                    pass

    def calls(self, *names: str) -> Iterator[tuple[_Module, ast.Call]]:
        """All calls of functions, methods or classes with these names."""
        for name in names:
            yield from self._calls.get(name, ())

    def subclasses(self, name: str) -> set[str]:
        """The classes that name `name` as a base, directly."""
        return self._subclasses.get(name, set())


def object_names(package: Path) -> set[str]:
    """All object names set in the modules below `package`. Raises `UnreadableNameError`."""
    found = _Package(package)
    calls = found.calls("setObjectName")
    return {name for module, call in calls for name in _values(found, module, call, call.args[0])} - {""}


def _values(package: _Package, module: _Module, at: ast.AST, node: ast.expr) -> Iterator[str]:
    """Every value that the expression `node`, used at `at`, can have."""
    match node:
        case ast.Constant(value=str(name)):
            yield name
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _values(package, module, at, body)
            yield from _values(package, module, at, orelse)
        case ast.Name(id=name):
            yield from _values_of_variable(package, module, at, name)
        case ast.Attribute(attr=name):
            yield from _values_of_field(package, module, node, name)
        case _:
            raise UnreadableNameError(f"{module.path}:{node.lineno}: {ast.unparse(node)}")


def _values_of_variable(package: _Package, module: _Module, at: ast.AST, name: str) -> Iterator[str]:
    """The values of a loop's variable over written-down tuples, or of a parameter: what the callers give it."""
    for outer in module.around(at):
        for loop in _loops(outer):
            targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
            index = next((i for i, one in enumerate(targets) if isinstance(one, ast.Name) and one.id == name), None)
            if index is not None and (rows := _written_down(module, outer, loop.iter)) is not None:
                for row in rows:
                    value = row.elts[index] if isinstance(row, ast.Tuple) else row
                    yield from _values(package, module, outer, value)
                return
        if isinstance(outer, Function) and name in (parameters := _parameters(outer)):
            owner = next((one for one in module.around(outer) if isinstance(one, ast.ClassDef)), None)
            yield from _values_given(package, outer, owner, parameters, name)
            return
    raise UnreadableNameError(f"{module.path}:{at.lineno if isinstance(at, ast.expr) else '?'}: the variable {name}")


def _values_given(
    package: _Package, function: Function, owner: ast.ClassDef | None, parameters: list[str], name: str
) -> Iterator[str]:
    """What the calls of `function` give the parameter `name`. A private one is called in its own module only."""
    home = package.home[function]
    if owner is not None:
        parameters = parameters[1:]
    is_constructor = owner is not None and function.name == "__init__"
    assert owner is not None or not is_constructor
    called = {owner.name, *package.subclasses(owner.name)} if owner is not None and is_constructor else {function.name}
    for module, call in package.calls(*called, *(["__init__"] if is_constructor else [])):
        if function.name.startswith("_") and not is_constructor and module is not home:
            continue
        if _called(call) == "__init__":  # super().__init__(…)
            child = next((one for one in module.around(call) if isinstance(one, ast.ClassDef)), None)
            assert owner is not None
            if child is None or child.name not in package.subclasses(owner.name):
                continue
        elif is_constructor and owner is not None and _called(call) != owner.name:
            continue  # a subclass with parameters of its own
        if (value := _argument(call, parameters, name)) is not None:
            yield from _values(package, module, call, value)


def _values_of_field(package: _Package, module: _Module, node: ast.Attribute, name: str) -> Iterator[str]:
    """The values of a field of a small class of this module: what its constructions give it."""
    for cls in ast.walk(module.tree):
        if isinstance(cls, ast.ClassDef):
            fields = [_last_part(item.target) for item in cls.body if isinstance(item, ast.AnnAssign)]
            if name in fields:
                for where, call in package.calls(cls.name):
                    if where is module and (value := _argument(call, fields, name)) is not None:
                        yield from _values(package, module, call, value)
                return
    raise UnreadableNameError(f"{module.path}:{node.lineno}: {ast.unparse(node)}")


def _written_down(module: _Module, at: ast.AST, node: ast.expr) -> list[ast.expr] | None:
    """The items of a literal, or of the literal that a variable around `at` was set to."""
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts
    if isinstance(node, ast.Name):
        for outer in module.around(at):
            for item in ast.walk(outer) if isinstance(outer, Function | ast.Module) else ():
                targets = item.targets if isinstance(item, ast.Assign) else []
                targets = [item.target] if isinstance(item, ast.AnnAssign) else targets
                if node.id in map(_last_part, targets) and isinstance(item, ast.Assign | ast.AnnAssign):
                    return item.value.elts if isinstance(item.value, ast.Tuple | ast.List) else None
    return None


def _loops(node: ast.AST) -> Sequence[ast.For | ast.comprehension]:
    match node:
        case ast.For():
            return [node]
        case ast.GeneratorExp(generators=loops) | ast.ListComp(generators=loops):
            return loops
        case _:
            return []


def _argument(call: ast.Call, parameters: list[str], name: str) -> ast.expr | None:
    index = parameters.index(name)
    if index < len(call.args):
        return call.args[index]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _parameters(function: Function) -> list[str]:
    return [item.arg for item in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _called(call: ast.Call) -> str:
    return _last_part(call.func)


def _last_part(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_part(value)
        case _:
            return ""
