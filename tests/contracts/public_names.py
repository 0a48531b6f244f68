"""The names that other people's scripts and programs rely on, each list taken from the code as it runs.

The lists that they are compared with are in `tests/goldens/names/`. To add what is new to them (it never removes):

    python -m tests.contracts.public_names
"""

import argparse
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
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
from desktop_agent.core.settings import Settings, declared_settings
from desktop_agent.core.slash.declarations import BUILT_IN
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.servers.search_tools import SearchTools
from desktop_agent.headless import EXIT_CODES
from desktop_agent.rest.server import RestServer, ServeOptions
from tests.contracts.object_names import object_names

GOLDENS = Path(__file__).parents[1] / "goldens" / "names"


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
        for kind in (endpoint.body, endpoint.answers.kind):
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


def _fields(kinds: Iterable[type]) -> Iterator[str]:
    for kind in kinds:
        (name,) = get_args(get_type_hints(kind)["type"])
        yield str(name)
        yield from _below(kind, str(name), ())


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
