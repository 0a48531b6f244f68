"""What a tool is: a schema, labels, and one of three ways to work.

- A `ReadTool` looks and answers.
- An `EditTool` *plans*: it returns the files as they would be and writes nothing. The same plan is the dry run, the
  diff in the approval, and what the ledger then applies, so that all three are the same thing.
- A `CommandTool` runs a process; what it changed is captured around it.

Tools never ask for approval, never write a file of the workspace themselves, and raise `ToolError` for every failure
that the model should read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from desktop_agent.core.errors import ToolError
from desktop_agent.core.files import FileTransition
from desktop_agent.core.ids import CallId
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.model import Capability, JsonObject, ToolDefinition, ToolResult, ToolSource
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.tools.reads import ReadLog


class ToolArguments(BaseModel):
    """Base of every tool's arguments: unknown fields are an error, so that a typo is answered instead of ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=ToolArguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a call may use. One per call."""

    call_id: CallId
    boundary: Boundary
    reads: ReadLog
    """What the model has seen of each file, to notice that one changed since."""
    jobs: Jobs
    """Where background commands live on after their call."""
    environ: Mapping[str, str]
    """The environment for child processes, already without secrets."""
    spool_folder: Path
    """Where output too large for memory goes while a call runs."""
    emit_output: Callable[[str], None]
    """Shows output to the person as it comes. Call it on the event loop's thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """What an edit tool would do. Applying it is all or nothing."""

    writes: tuple[FileTransition, ...]
    content: str
    """What the model reads when the plan was applied."""
    metadata: JsonObject = field(default_factory=dict[str, object])


class Tool(ABC, Generic[A]):
    """A tool the model can call. Subclasses state the class variables and one way to work."""

    name: ClassVar[str]
    description: ClassVar[str]
    """What it is for and how to use it well, written for the model."""
    capabilities: ClassVar[tuple[Capability, ...]]
    source: ClassVar[ToolSource] = "workspace"
    arguments_type: type[A]

    @property
    def is_read_only(self) -> bool:
        """Whether a call can change anything: only then may it run beside other calls."""
        return self.capabilities == ("read_fs",)

    @abstractmethod
    def title(self, arguments: A) -> str:
        """One line for people that says what this call is about: a path, a command, a pattern."""

    def parse(self, arguments: JsonObject) -> A:
        """Return the validated arguments, or raise `ToolError` (validation) that says what would be right."""
        try:
            return self.arguments_type.model_validate(arguments)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'input'}: {item['msg'].removeprefix('Value error, ')}"
                for item in error.errors(include_url=False)
            )
            known = ", ".join(self.arguments_type.model_fields)
            message = f"Invalid arguments for {self.name}: {problems}. Its arguments are: {known}."
            raise ToolError(message, error_type="validation") from error

    def definition(self) -> ToolDefinition:
        """The tool as the model is told of it."""
        return ToolDefinition(
            name=self.name, description=self.description, input_schema=_plain_schema(self.arguments_type)
        )


class ReadTool(Tool[A]):
    """A tool that looks and answers."""

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> ToolResult:
        """Do it. Cancellation must leave nothing behind."""


class EditTool(Tool[A]):
    """A tool that changes files by a plan."""

    @abstractmethod
    def plan(self, arguments: A, context: ToolContext) -> EditPlan:
        """Return the files as they would be, and write nothing. Runs in a thread."""

    def is_dry_run(self, arguments: A) -> bool:
        """Whether the model asked for the plan only."""
        return bool(getattr(arguments, "dry_run", False))


class CommandTool(Tool[A]):
    """A tool that runs a command whose effects are captured around it."""

    @abstractmethod
    def command(self, arguments: A) -> str:
        """The command as the person is shown it."""

    @abstractmethod
    def with_command(self, arguments: A, command: str) -> A:
        """The same call with the command the person edited."""

    @abstractmethod
    def working_folder(self, arguments: A, context: ToolContext) -> Path:
        """Where the command would run. Raises `ToolError` when it is not in the workspace."""

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> ToolResult:
        """Run it. On cancellation the whole process group is gone before this returns."""


AnyTool = ReadTool[ToolArguments] | EditTool[ToolArguments] | CommandTool[ToolArguments]


def _plain_schema(arguments_type: type[BaseModel]) -> JsonObject:
    """Return the JSON schema without pydantic's titles, which cost tokens and say nothing."""
    schema: JsonObject = arguments_type.model_json_schema()
    schema.pop("description", None)
    return cast("JsonObject", _without_titles(schema))


def _without_titles(value: object, *, is_property_map: bool = False) -> object:
    """Drop `title` keywords at every depth, but never a property that happens to be called `title`."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {
            key: _without_titles(inner, is_property_map=key == "properties" and not is_property_map)
            for key, inner in fields.items()
            if is_property_map or key != "title"
        }
    if isinstance(value, list):
        return [_without_titles(inner) for inner in cast("list[object]", value)]
    return value
