"""The names that other people's scripts and programs rely on, each list taken from the code as it runs.

The lists that they are compared with are in `tests/goldens/names/`. To add what is new to them (it never removes):

    python packaging/tools/public_names.py
"""

import argparse
import ast
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Annotated, ClassVar, Literal, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

import desktop_agent
from desktop_agent.app.startup.arguments import parse_arguments
from desktop_agent.cli import COMMANDS
from desktop_agent.cli.parser import build_parser
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.vendors import PROVIDER_IDS
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.core.slash.declarations import BUILT_IN
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.mcp_tool import SearchTools
from desktop_agent.headless.runner import EXIT_CODES
from desktop_agent.rest.server import RestServer, ServeOptions

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
        sources = [(path, path.read_bytes()) for path in sorted(folder.rglob("*.py"))]
        modules = [_Module(path, ast.parse(source)) for path, source in sources if b"PySide6" in source]
        everywhere = {name: called for module in modules for name, called in _partials(module.tree.body)}
        for module in modules:
            self._take_in(module, everywhere)

    def _take_in(self, module: _Module, everywhere: Mapping[str, str]) -> None:
        """Take in a module; `everywhere` has what the names of partial functions of other modules call."""
        meant = dict(everywhere)
        for name, called in _partials(ast.walk(module.tree)):
            meant.setdefault(name, meant.get(called, called))
        for node in ast.walk(module.tree):
            for child in ast.iter_child_nodes(node):
                module.parents[child] = node
            match node:
                case ast.Call():
                    self._calls.setdefault(meant.get(_called(node), _called(node)), []).append((module, node))
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


def _partials(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The names that `partial(function, …)` is assigned to, and of each the function."""
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="partial"), args=[ast.Name(id=function)])
            ):
                yield name, function
            case _:
                pass


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
    """The values of a variable.

    Of a loop over written-down tuples, of an assignment, or of a parameter: what the callers give it.
    """
    for outer in module.around(at):
        for loop in _loops(outer):
            target, rows_of = loop.target, loop.iter
            if isinstance(rows_of, ast.Call) and _called(rows_of) == "enumerate" and isinstance(target, ast.Tuple):
                target, rows_of = target.elts[1], rows_of.args[0]
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            index = next((i for i, one in enumerate(targets) if isinstance(one, ast.Name) and one.id == name), None)
            if index is not None and (rows := _written_down(module, outer, rows_of)) is not None:
                for row in rows:
                    value = row.elts[index] if isinstance(row, ast.Tuple) else row
                    yield from _values(package, module, outer, value)
                return
        if isinstance(outer, Function) and (assigned := list(_assigned(outer, name))):
            for value in assigned:
                yield from _values(package, module, outer, value)
            return
        if isinstance(outer, Function) and name in (parameters := _parameters(outer)):
            owner = next((one for one in module.around(outer) if isinstance(one, ast.ClassDef)), None)
            yield from _values_given(package, outer, owner, parameters, name)
            return
    raise UnreadableNameError(f"{module.path}:{at.lineno if isinstance(at, ast.expr) else '?'}: the variable {name}")


def _assigned(function: Function, name: str) -> Iterator[ast.expr]:
    """What is assigned to a variable in this function, alone or in a tuple."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name) and target.id == name:
                        yield value
            case _:
                pass


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
        elif (default := _default(function, name)) is not None:
            yield from _values(package, home, function, default)


def _values_of_field(package: _Package, module: _Module, node: ast.Attribute, name: str) -> Iterator[str]:
    """The values of a field of a small class of this module: what its constructions give it."""
    for cls in ast.walk(module.tree):
        if isinstance(cls, ast.ClassDef):
            fields = [_last_part(item.target) for item in cls.body if isinstance(item, ast.AnnAssign)]
            if name in fields:
                for where, call in package.calls(cls.name):
                    if (value := _argument(call, fields, name)) is not None:
                        yield from _values(package, where, call, value)
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


def _default(function: Function, name: str) -> ast.expr | None:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(reversed(positional), reversed(arguments.defaults), strict=False)
    found = {
        item.arg: value for item, value in (*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    }
    return found.get(name)


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


GOLDENS = Path(__file__).parents[2] / "tests" / "goldens" / "names"


def command_line() -> Iterator[str]:
    """Every command with its arguments, options and their choices, and the options of the window."""
    yield from (f"desktop-agent {name}" for name in COMMANDS)
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):
        parse_arguments(["--help"])
    usage = " ".join(shown.getvalue().partition("\n\n")[0].split())
    yield from (f"desktop-agent {option}" for option in re.findall(r"(?<![\w-])(?:--[a-z-]+|WORKSPACE\b)", usage))
    yield from _arguments(build_parser())


def exit_codes() -> Iterator[str]:
    """What a run returns for each reason, and what errors return."""
    yield from (f"{reason}: {code}" for reason, code in EXIT_CODES.items())
    yield from (f"{error.__name__}: {error.exit_code}" for error in _family(AgentError))


def settings() -> Iterator[str]:
    """The keys of the settings file, and the values of those that are a choice."""
    for key, setting in declared_settings().items():
        yield key
        yield from (f"{key} = {choice}" for choice in setting.choices)


def events() -> Iterator[str]:
    """The fields of every event, those of the objects in them too, and the values of those that are closed."""
    yield from _fields(get_args(ev.KnownEvent) + get_args(ev.LiveEvent))


def op_types() -> Iterator[str]:
    """The same of ops."""
    yield from _fields(get_args(ops.Op))


def objects_in_the_window() -> Iterable[str]:
    """The names of Qt objects."""
    return object_names(Path(desktop_agent.__file__).parent)


def tools_and_commands() -> Iterator[str]:
    """The model's tools with their arguments, slash commands, providers."""
    for tool in (*builtin_tools(Path("cache")), SearchTools(tuple)):
        yield f"tool {tool.name}"
        properties = cast("Mapping[str, object]", tool.definition().input_schema.get("properties", {}))
        yield from (f"tool {tool.name} {argument}" for argument in properties)
    yield from (f"/{command.name} {command.arguments}".strip() for command in BUILT_IN)
    yield from (f"provider {name}" for name in PROVIDER_IDS)


_FOR_THE_AGENT = {"hear", "fail"}
"""What an agent calls of its own parts."""


def library() -> Iterator[str]:
    """What programs import from the package, and what an agent offers."""
    yield from desktop_agent.__all__
    for owner in (desktop_agent.Agent, desktop_agent.Changes, desktop_agent.Result):
        names = {name for name in dir(owner) if not name.startswith("_")} - _FOR_THE_AGENT
        yield from (f"{owner.__name__}.{name}" for name in names)
    yield from (f"Agent({name})" for name in inspect.signature(desktop_agent.Agent).parameters)


def rest() -> Iterator[str]:
    """What can be asked of `serve`, with the fields of what is asked and answered."""
    paths = AppPaths.from_environment()
    for endpoint in RestServer(Workbench(paths, Settings()), ServeOptions(folder=paths.data)).endpoints:
        yield f"{endpoint.method} {endpoint.path}"
        yield from (f"{endpoint.method} {endpoint.path}?{name}" for name in endpoint.query.__struct_fields__)
        for kind in (endpoint.body, endpoint.kind):
            if isinstance(kind, type) and issubclass(kind, Struct):
                yield from (f"{kind.__name__}.{name}" for name in kind.__struct_fields__)


LISTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "command_line": command_line,
    "exit_codes": exit_codes,
    "settings": settings,
    "events": events,
    "ops": op_types,
    "object_names": objects_in_the_window,
    "tools": tools_and_commands,
    "library": library,
    "rest": rest,
}
"""Each list by the name of its file. `json_keys`, which needs commands to be run, is made by its test."""


def golden(name: str) -> set[str]:
    """The list as it was promised."""
    path = GOLDENS / f"{name}.txt"
    return set(path.read_text("utf-8").splitlines()) if path.exists() else set()


def add(name: str, found: Iterable[str]) -> None:
    """Write down what is new; what is gone stays, until somebody takes it out by hand and says so in the changelog."""
    lines = sorted({*golden(name), *found})
    (GOLDENS / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse has no public way to look inside
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage] - as above
            for child in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                yield child.prog
                yield from _arguments(child)
            continue
        for name in action.option_strings or [str(action.metavar or action.dest)]:
            yield f"{parser.prog} {name}"
            yield from (f"{parser.prog} {name} {choice}" for choice in action.choices or ())


def _family(error: type[AgentError]) -> Iterator[type[AgentError]]:
    yield error
    for child in error.__subclasses__():
        if child.__module__ == error.__module__:
            yield from _family(child)


def _fields(kinds: Iterable[type[Struct]]) -> Iterator[str]:
    for kind in kinds:
        name = str(kind.__struct_config__.tag)
        yield from (name, f"{name}.type")
        yield from _below(kind, name, ())


def _below(hint: object, path: str, outer: tuple[object, ...]) -> Iterator[str]:
    """The fields of the objects that a value of this type holds, as paths; the values that it is closed to."""
    if get_origin(hint) is Literal:
        yield from (f"{path} = {value}" for value in get_args(hint) if not path.endswith(".type"))
    elif get_origin(hint) in (Union, UnionType, tuple, list, Annotated, ClassVar):
        for part in get_args(hint):
            yield from _below(part, path, outer)
    elif isinstance(hint, type) and issubclass(hint, Struct) and hint not in outer:
        for name, inner in get_type_hints(hint).items():
            yield f"{path}.{name}"
            yield from _below(inner, f"{path}.{name}", (*outer, hint))


if __name__ == "__main__":
    for one in sys.argv[1:] or LISTS:
        add(one, LISTS[one]())
