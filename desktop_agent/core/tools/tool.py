"""What a tool is: a schema, labels, and one of four ways to work (read, edit, run a command, call a server).

Tools never ask for approval or write a file themselves. They raise `ToolError` for what the model should read.
The read log, a fold of the journal, has the digest of each file when the model last read or wrote it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec import Struct, field
from msgspec.json import decode
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from pydantic_core import PydanticSerializationError, to_json

from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import ArgumentsError, ToolError
from desktop_agent.core.base.file_names import legible_names
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.extensions.agent_files import AgentRole
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.mcp.client import AskUser, SampleModel, no_model_to_ask, nobody_to_ask
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    BlobRef,
    Capability,
    HostedTool,
    JsonObject,
    TodoItem,
    ToolDefinition,
    ToolResult,
    ToolSource,
)
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.tools.files.open_texts import NO_TEXTS, OpenTexts
from desktop_agent.core.tools.files.ripgrep import SearchGround
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.secret_files import SecretNames

DIGEST_KEY = "digest"
"""The key in a result's metadata, beside a `path`, for the digest of the file that the model was shown."""


class ReadLog(Struct):
    seen: dict[str, Digest | None] = field(default_factory=dict[str, "Digest | None"])
    """The last state of each file that the model knows; `None` if it knows that the file does not exist."""

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.PromptSubmitted(attachments=attachments) | ev.Steered(attachments=attachments):
                for attached in attachments:
                    if attached.digest is not None:
                        self.note(attached.uri, attached.digest)
            case ev.ToolCallFinished(result=result):
                path, digest = result.metadata.get("path"), result.metadata.get(DIGEST_KEY)
                if isinstance(path, str) and isinstance(digest, str):
                    self.note(path, digest)
            case ev.ChangesRecorded(changes=changes, is_offered=False):
                for change in changes:
                    if change.author == "agent":
                        self.note(change.path, change.after.digest if change.after else None)
            case _:
                pass

    def note(self, path: str, digest: Digest | None) -> None:
        self.seen[path] = digest

    def require_fresh(self, path: str, digest: Digest | None) -> None:
        if path in self.seen and self.seen[path] != digest:
            raise ToolError(
                f"{path} changed on disk since you last read it. Nothing was written. Read it again, then redo the "
                "edit against its current content."
            )


SPOOL_KEY = "spool_path"
"""The metadata key for the path of a file with the whole output, which the runtime stores as a blob."""

SKIPPED_KEY = "skipped"
"""The metadata key that is true if the call was not run at all."""

STOPPED_KEY = "stopped"


class ToolArguments(BaseModel):
    """The base class of tools' arguments. Unknown fields are an error, so that the model learns about typos."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _can_be_stored(cls, value: object) -> object:
        """Refuse lone surrogates, which no file, command or journal can store."""
        try:  # pydantic's serialiser refuses lone surrogates at any depth, in keys as in values
            to_json(value, serialize_unknown=True)
        except PydanticSerializationError as error:
            raise ValueError("the text has half a character (a lone surrogate)") from error
        return value


A = TypeVar("A", bound=ToolArguments)


class TaskOrder(Struct, frozen=True):
    """What a sub-agent is to do."""

    role: AgentRole
    description: str
    prompt: str
    is_background: bool = False

    @property
    def title(self) -> str:
        return f"{self.role.name}: {' '.join(self.description.split())}"


async def _no_subagents(order: TaskOrder) -> ToolResult:
    text = f"There are no sub-agents here, so nobody can do this: {order.description}"
    return ToolResult(content=text, is_error=True, error_type="recoverable")


class ToolContext(SearchGround, frozen=True, kw_only=True):
    """What a call may use. One per call."""

    call_id: CallId
    reads: ReadLog
    jobs: Jobs
    spool_folder: Path
    emit_output: Callable[[str], None]
    keep: Callable[[bytes, str], BlobRef]
    """Stores content of the given media type permanently. Blocks: call it from a thread."""
    texts: OpenTexts = NO_TEXTS
    clock: Clock = field(default_factory=SystemClock)
    todos: Callable[[], tuple[TodoItem, ...]] = tuple
    limits: ContextLimits = field(default_factory=ContextLimits)
    """How much of a result the model will read."""
    confine: Callable[[Command], Command] = lambda command: command
    secrets: SecretNames = field(default_factory=lambda: SecretNames(Path()))
    ask_user: AskUser = nobody_to_ask
    sample_model: SampleModel = no_model_to_ask
    run_task: Callable[[TaskOrder], Awaitable[ToolResult]] = _no_subagents
    keep_partial: Callable[[ToolResult], None] | None = None
    """Receives the partial result of a cancelled call, before the cancellation is passed on."""

    def room(self, most_bytes: int) -> int:
        """How many bytes an answer may take, so that a note about omitted parts still fits."""
        return max(_LEAST_ROOM, min(most_bytes, self.limits.as_output_limits().max_bytes - _NOTE_ROOM))


_NOTE_ROOM = 512
_LEAST_ROOM = 256


def is_dry_run(arguments: ToolArguments) -> bool:
    return bool(getattr(arguments, "dry_run", False))


def edit_answer(answer: JsonObject, arguments: ToolArguments) -> str:
    return json_text(answer | {"dry_run": True} if is_dry_run(arguments) else answer)


def json_text(answer: object) -> str:
    """Return JSON in which names that are not UTF-8 are in C quotes."""
    return json.dumps(legible_names(answer), ensure_ascii=False)


class EditPlan(Struct, frozen=True, kw_only=True):
    writes: tuple[FileTransition, ...]
    content: str
    metadata: JsonObject = field(default_factory=dict[str, object])


class Tool(ABC, Generic[A]):
    name: str
    description: str
    capabilities: tuple[Capability, ...]
    source: ToolSource = "workspace"
    hosted_tool: HostedTool | None = None
    """The tool that many providers host and that can replace this one, if the user permits it."""
    arguments_type: type[A]

    @property
    def is_read_only(self) -> bool:
        return not {"write_fs", "exec_shell", "network"}.intersection(self.capabilities)

    @property
    def is_parallel(self) -> bool:
        """Whether the call can run beside its neighbours. False if neighbouring calls depend on each other."""
        return self.is_read_only

    @abstractmethod
    def title(self, arguments: A) -> str: ...

    def question(self, arguments: A) -> str:
        """The agent's question to the user before this call, in one line."""
        return ""

    def why_asked(self, arguments: A) -> str:
        return ""

    def heading(self, title: str) -> str:
        return f"Allow {self.name} {title}?"

    def circumstances(self, arguments: A) -> tuple[str, ...]:
        """What else the user should know when asked about this call, as separate lines."""
        return ()

    def asked_arguments(self, arguments: A, given: JsonObject) -> JsonObject:
        """Return the arguments to show in a question, without those that it shows in another form."""
        return given

    def explanation(self, arguments: A) -> str:
        """What the model says this call is for, on one line; empty if it says nothing."""
        return ""

    def parse(self, arguments: JsonObject) -> A:
        try:
            return self.arguments_type.model_validate(arguments)
        except ValidationError as error:
            found = [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors(include_url=False)]
            problems = "; ".join(f"{at or 'input'}: {words.removeprefix('Value error, ')}" for at, words in found)
            known = ", ".join(self.arguments_type.model_fields)
            message = f"Invalid arguments for {self.name}: {problems.removesuffix('.')}. Its arguments are: {known}."
            raise ArgumentsError(message, [at for at, _ in found if at]) from error

    async def aclose(self) -> None:
        """Release what the tool holds beyond its calls. A closing session calls this; the tool can still be used."""

    def definition(self) -> ToolDefinition:
        return ToolDefinition(
            name=self.name, description=self.description, input_schema=_schema_of(self.arguments_type)
        )


class ReadTool(Tool[A]):
    def paths(self, arguments: A, context: ToolContext) -> tuple[str, ...]:
        """Return the paths of the call, relative to the workspace, symlinks followed. Blocks. Raises `ToolError`."""
        return ()

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> ToolResult:
        """A cancelled call must leave nothing running."""


class EditTool(Tool[A]):
    capabilities = ("write_fs",)

    @abstractmethod
    def plan(self, arguments: A, context: ToolContext) -> EditPlan:
        """Return the changes to make, without writing anything. Runs in a thread."""

    def asked_arguments(self, arguments: A, given: JsonObject) -> JsonObject:
        """Return no arguments: the question shows the changes instead."""
        return {}


@cache
def _schema_of(arguments_type: type[BaseModel]) -> JsonObject:
    """Return the JSON schema of the arguments, as the request sends it. Callers share it and must not modify it."""
    return _written_schemas().get(schema_key(arguments_type)) or plain_schema(arguments_type)


@cache
def _written_schemas() -> dict[str, JsonObject]:
    """Return the schemas of our own tools. Pydantic would take 40 ms at each start to make them."""
    return decode(resource_path("tool_schemas.json").read_bytes(), type=learned(dict[str, dict[str, object]]))


def schema_key(arguments_type: type[BaseModel]) -> str:
    return f"{arguments_type.__module__}.{arguments_type.__qualname__}"


def plain_schema(arguments_type: type[BaseModel]) -> JsonObject:
    """Return the schema without titles and nullable alternatives, which cost tokens."""
    schema: JsonObject = arguments_type.model_json_schema()
    schema.pop("description", None)
    return cast("JsonObject", map_schema(schema, _without_title_and_null))


def _without_title_and_null(schema: JsonObject) -> JsonObject:
    alternatives = schema.get("anyOf")
    if isinstance(alternatives, list) and "default" in schema and schema["default"] is None:
        wanted = [option for option in cast("list[JsonObject]", alternatives) if option.get("type") != "null"]
        if len(wanted) == 1:
            schema = wanted[0] | {key: inner for key, inner in schema.items() if key not in ("anyOf", "default")}
    return {key: inner for key, inner in schema.items() if key != "title"}


_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions"})
"""Keywords whose value is an object of schemas by name. These names may look like keywords."""
_DEEPEST = 64
"""What a server nests more deeply is replaced by a schema that allows anything."""


def map_schema(value: object, change: Callable[[JsonObject], JsonObject], depth: int = 0) -> object:
    if isinstance(value, list):
        return [map_schema(inner, change, depth + 1) for inner in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    if depth > _DEEPEST:
        return {}
    return {
        key: {name: map_schema(schema, change, depth + 2) for name, schema in cast("JsonObject", inner).items()}
        if key in _NAMED_SCHEMAS and isinstance(inner, dict)
        else map_schema(inner, change, depth + 1)
        for key, inner in change(cast("JsonObject", value)).items()
    }
