"""Tools made of functions: the annotations define the arguments, which are checked before the function runs.

Descriptions of arguments in a docstring can have the style of Google, NumPy or Sphinx.
"""

import asyncio
import inspect
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints, is_typeddict, overload

import msgspec
from msgspec import Struct
from pydantic import (
    BaseModel,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning
from pydantic_core import CoreSchema, PydanticCustomError, PydanticSerializationError, core_schema, to_json

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext

logger = logging.getLogger(__name__)

Function = Callable[..., Any]
"""Sync or async; returns text, a JSON value, None, or a `ToolResult`."""

_LONGEST_TITLE = 120
_NAME = regex(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class FunctionTool(ReadTool[ToolArguments]):
    """A function of a program that uses the library, as a tool.

    The user is asked before each call, unless the tool is read-only. Its changes of files cannot be undone.
    """

    source = "external"

    def __init__(
        self, function: Function, *, name: str = "", description: str = "", is_read_only: bool = False
    ) -> None:
        """Raises `TypeError` for a function that a model cannot call. It names the argument and the accepted types."""
        self.function = function
        self.name: str = name or getattr(function, "__name__", "")
        if _NAME.fullmatch(self.name) is None:
            raise TypeError(
                f"{self.name or function!r} is no name for a tool: give one of letters, digits, _ and -, as in "
                "tool(name='look_up')(function)"
            )
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
        return self._is_read_only

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.function(*args, **kwargs)

    def title(self, arguments: ToolArguments) -> str:
        shown = json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)
        return shortened(shown, _LONGEST_TITLE)

    async def run(self, arguments: ToolArguments, context: ToolContext) -> ToolResult:
        """Call the function. Cancelling does not stop the thread of a sync function. The model reads exceptions."""
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
            words = mask(f"{self.name} failed: {type(error).__name__}: {error}")  # the error may quote a secret
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

    The model reads the docstring: an argument's description is its entry under `Args:`, or the text in `Annotated[int,
    "How many."]`. `Annotated[int, Field(ge=1)]` restricts it. A call that `is_read_only` needs no approval.
    """

    def make(wrapped: Function) -> FunctionTool:
        return FunctionTool(wrapped, name=name, description=description, is_read_only=is_read_only)

    return make if function is None else make(function)


def _arguments_of(name: str, function: Function, told: Mapping[str, str]) -> type[ToolArguments]:
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
    annotation = for_pydantic(hint)
    metadata: tuple[object, ...] = getattr(annotation, "__metadata__", ())
    if told and not any(isinstance(each, FieldInfo) and each.description for each in metadata):
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


def _hints_of(name: str, function: Function) -> dict[str, object]:
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


KNOWN_TYPES = (
    "str, int, float, bool, list, dict, tuple, Literal, Enum, a dataclass, a TypedDict, a msgspec Struct or a pydantic "
    "model"
)

_DEFINITIONS = "#/$defs/"


def for_pydantic(annotation: object) -> Any:
    """Return an annotation that means the same to pydantic: `Annotated[int, "How many."]` becomes a description."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return cast("Any", Union)[tuple(map(for_pydantic, arguments))]
    if origin in (list, dict, tuple, set, frozenset):
        return cast("Any", origin)[tuple(each if each is ... else for_pydantic(each) for each in arguments)]
    is_unknown = _is_struct(annotation) or (sys.version_info < (3, 12) and is_typeddict(annotation))
    return Annotated[annotation, _ByMsgspec()] if is_unknown else annotation


def adapter_of(annotation: object) -> TypeAdapter[Any]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(for_pydantic(annotation))
        adapter.json_schema()
    except (PydanticUserError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(". Set `arbitrary_types_allowed")[0]
        raise TypeError(f"a model cannot give it: {reason}. Annotate it with {KNOWN_TYPES}") from error
    return adapter


def default_of(annotation: object, value: object) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PydanticJsonSchemaWarning)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_annotated(annotation, (Field(default=value),)))
            adapter.json_schema()
        except PydanticJsonSchemaWarning:
            return Field(default=msgspec.to_builtins(value), validate_default=True)
    return value


def first_mistake(read: Callable[[object], object], value: object) -> str:
    try:
        read(value)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, item['loc'])) or 'the value'}: {item['msg'].removeprefix('Value error, ')}"
    return ""


def _annotated(annotation: Any, metadata: tuple[object, ...]) -> Any:
    told = [Field(description=each) if isinstance(each, str) else each for each in metadata]
    return Annotated[(for_pydantic(annotation), *told)]


class _ByMsgspec:
    def __get_pydantic_core_schema__(self, source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> object:
            try:
                is_one = not is_typeddict(source) and isinstance(value, source)
                return value if is_one else msgspec.convert(value, learned(source))
            except msgspec.ValidationError as error:
                raise PydanticCustomError("msgspec", "{problem}", {"problem": str(error)}) from error

        self._source = source
        to_json = core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins)
        return core_schema.no_info_plain_validator_function(read, serialization=to_json)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonObject:
        (schema,), definitions = msgspec.json.schema_components([self._source], ref_template=_DEFINITIONS + "{name}")
        return cast("JsonObject", _inlined(schema, definitions, ()))


def _is_struct(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)


def _inlined(value: object, definitions: JsonObject, above: tuple[str, ...]) -> object:
    if isinstance(value, list):
        return [_inlined(each, definitions, above) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("JsonObject", value)
    name = str(fields.get("$ref", "")).removeprefix(_DEFINITIONS)
    if name in above:
        raise TypeError(f"{name} holds itself, which only a pydantic model or a dataclass may")
    if name in definitions:
        return _inlined(definitions[name], definitions, (*above, name))
    return {key: _inlined(each, definitions, above) for key, each in fields.items()}


_MORE = r"(?:(?P=indent)[ \t]+.*\n?|[ \t]*\n)*"  # lines that are indented further, and blank ones
_SECTIONS = (
    (  # Google's
        regex(rf"(?m)^(?P<indent>[ \t]*)(?:Args|Arguments|Parameters):[ \t]*\n(?P<block>{_MORE})"),
        regex(r"(?P<name>\w+)[ \t]*(?:\([^)]*\))?:[ \t]*(?P<text>.*)"),
    ),
    (  # NumPy's; ends before the next underlined heading
        regex(
            r"(?m)^[ \t]*Parameters[ \t]*\n[ \t]*-{3,}[ \t]*\n"
            r"(?P<block>(?:(?!.+\n[ \t]*-{3,}[ \t]*$).*(?:\n|\Z))*)"
        ),
        regex(r"(?P<name>\w+)[ \t]*(?P<text>)(?::.*)?$"),
    ),
    (  # Sphinx's
        regex(rf"(?m)^(?P<indent>[ \t]*)(?P<block>:param[ \t].*\n?{_MORE})"),
        regex(r":param[ \t]+(?:[^:]*[ \t])?(?P<name>\w+):[ \t]*(?P<text>.*)"),
    ),
)


class Documented(Struct, frozen=True):
    description: str
    arguments: dict[str, str]


def taken_apart(docstring: str, names: Collection[str]) -> Documented:
    """Return the description in a docstring from `inspect.getdoc`, and those of the arguments `names`.

    Sections about anything else stay in the description.
    """
    found: dict[str, str] = {}
    for section, entry in _SECTIONS:
        for match in reversed(list(section.finditer(docstring))):
            entries = _entries(match["block"].splitlines(), entry)
            if entries and entries.keys() <= set(names):
                found = entries | found
                docstring = docstring[: match.start()] + docstring[match.end() :]
    return Documented(re.sub(r"\n{3,}", "\n\n", docstring).strip(), found)


def _entries(lines: Sequence[str], entry: re.Pattern[str]) -> dict[str, str]:
    least = min((_indent(line) for line in lines if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in lines:
        if line.strip() and _indent(line) == least:
            match = entry.match(line.strip())
            if match is None:
                return {}
            texts = found[match["name"]] = [match["text"]]
        else:
            texts.append(line)
    return {name: " ".join(" ".join(texts).split()) for name, texts in found.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
