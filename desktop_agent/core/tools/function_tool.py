"""Tools made of functions: what the model may send is read from the annotations, and checked before the function runs.

```python
@tool(is_read_only=True, description="Tell the weather of a city.")
def weather(city: str, days: Annotated[int, Field(ge=1, le=7)] = 1) -> str: ...
```
"""

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast, get_type_hints, overload

import msgspec
from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.annotations import adapter_of, default_of, for_pydantic
from desktop_agent.core.tools.docstrings import taken_apart
from desktop_agent.core.tools.spec import ReadTool, ToolArguments, ToolContext

logger = logging.getLogger(__name__)

Function = Callable[..., Any]
"""What a tool is made of: sync or async; it returns text, something that JSON can say, None, or a `ToolResult`."""

_LONGEST_TITLE = 120
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What all providers take as the name of a tool."""


class FunctionTool(ReadTool[ToolArguments]):
    """A function of the program that uses the library, as a tool.

    What it does is not known to the policy: the user is asked before each call, unless it is declared to only read.
    Files that it writes are no changes of the agent's, and cannot be undone.
    """

    source = "external"

    def __init__(
        self, function: Function, *, name: str = "", description: str = "", is_read_only: bool = False
    ) -> None:
        """Raise `TypeError` for a function that a model cannot call, naming the argument, and what would do."""
        self.function = function
        self.name = _checked_name(name or getattr(function, "__name__", ""), function)
        documented = taken_apart(inspect.getdoc(function) or "", inspect.signature(function).parameters.keys())
        self.description = description or documented.description
        if not self.description:
            raise TypeError(f"the tool {self.name!r} needs a docstring: it tells the model what the tool is for")
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self._is_read_only = is_read_only
        self.capabilities = ("read_fs",) if is_read_only else ()
        self.arguments_type = _arguments_of(self.name, function, documented.arguments)

    @property
    def is_read_only(self) -> bool:
        """Whether it was declared to only read. A role that only reads is not offered any other."""
        return self._is_read_only

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, as the program would without this."""
        return self.function(*args, **kwargs)

    def title(self, arguments: ToolArguments) -> str:
        shown = json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)
        return shown if len(shown) <= _LONGEST_TITLE else f"{shown[:_LONGEST_TITLE]}…"

    async def run(self, arguments: ToolArguments, context: ToolContext) -> ToolResult:
        """Call the function; a sync one in a thread, which goes on when the call is cancelled.

        A `ToolError` of it is read by the model as it is, and so is any other exception: the turn goes on.
        """
        values = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        try:
            if self._is_async:
                value: object = await self.function(**values)
            else:
                value = await asyncio.to_thread(self.function, **values)
        except ToolError:
            raise
        except Exception as error:
            logger.info("The tool %s failed", self.name, exc_info=True)
            words = mask(f"{self.name} failed: {type(error).__name__}: {error}")  # whatever it quotes
            raise ToolError(words, error_type="recoverable") from error
        return self._result(value)

    def _result(self, value: object) -> ToolResult:
        match value:
            case ToolResult():
                return value
            case None:
                return ToolResult(content="Done.")
            case str():
                return ToolResult(content=value)
            case _:
                try:
                    return ToolResult(content=to_json(value, fallback=msgspec.to_builtins).decode())
                except (PydanticSerializationError, TypeError) as error:
                    raise ToolError(f"{self.name} returned what is no JSON: {error}") from error


@overload
def tool(function: Function, /) -> FunctionTool: ...
@overload
def tool(
    *, name: str = "", description: str = "", is_read_only: bool = False
) -> Callable[[Function], FunctionTool]: ...
def tool(
    function: Function | None = None, /, *, name: str = "", description: str = "", is_read_only: bool = False
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Make a tool of a function, as a decorator with or without arguments. Raises `TypeError`; see `FunctionTool`.

    The model reads its docstring: of an argument, what stands under `Args:`, or in `Annotated[int, "How many."]`.
    `Annotated[int, Field(ge=1)]` limits it.
    With `is_read_only` a call leaves everything as it is, and the user is not asked.
    """

    def make(wrapped: Function) -> FunctionTool:
        return FunctionTool(wrapped, name=name, description=description, is_read_only=is_read_only)

    return make if function is None else make(function)


def _checked_name(name: str, function: Function) -> str:
    """Return the name. Raises `TypeError` for one that no model could use."""
    if _NAME.fullmatch(name) is None:
        raise TypeError(
            f"{name or function!r} is no name for a tool: give one of letters, digits, _ and -, as in "
            "tool(name='look_up')(function)"
        )
    return name


def _arguments_of(name: str, function: Function, told: Mapping[str, str]) -> type[ToolArguments]:
    """Return the model of the function's arguments, with what is told of them where the annotation says nothing."""
    hints = _hints_of(name, function)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"the tool {name!r} cannot take {parameter}: a model gives every argument by its name")
        if parameter.name not in hints:
            raise TypeError(f"the argument {parameter.name!r} of the tool {name!r} needs an annotation")
        if parameter.name.startswith("_") or hasattr(BaseModel, parameter.name):
            raise TypeError(f"the argument {parameter.name!r} of the tool {name!r} needs another name")
        hint = hints[parameter.name]
        try:
            adapter_of(hint)
        except TypeError as error:
            raise TypeError(f"the argument {parameter.name!r} of the tool {name!r}: {error}") from error
        fields[parameter.name] = _field(name, hint, parameter, told.get(parameter.name))
    create = cast("Callable[..., type[ToolArguments]]", create_model)
    return create(f"{name}_arguments", __base__=ToolArguments, **fields)


def _field(name: str, hint: object, parameter: inspect.Parameter, told: str | None) -> tuple[object, object]:
    """Return the annotation and the default of a field. Raises `TypeError` for a default that JSON cannot say."""
    annotation = for_pydantic(hint)
    if told and not _is_described(annotation):
        annotation = Annotated[annotation, Field(description=told)]
    if parameter.default is parameter.empty:
        return annotation, ...
    try:
        return annotation, default_of(hint, parameter.default)
    except TypeError as error:
        raise TypeError(
            f"the default of {parameter.name!r} of the tool {name!r} cannot be told to a model: {parameter.default!r}. "
            "Take None, and put it in when the function runs"
        ) from error


def _is_described(annotation: object) -> bool:
    metadata: tuple[object, ...] = getattr(annotation, "__metadata__", ())
    return any(isinstance(each, FieldInfo) and each.description for each in metadata)


def _hints_of(name: str, function: Function) -> dict[str, object]:
    """Return the annotations. Raises `TypeError` for one that names what is not there when the tool is made."""
    while isinstance(function, partial):
        function = cast("Function", function.func)  # pyright: ignore[reportUnknownMemberType] - of what it returns
    takes = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(takes, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"an annotation of the tool {name!r} names what is not defined yet, {error.name!r}: import it, or define "
            "it above, at the top of a module"
        ) from error
