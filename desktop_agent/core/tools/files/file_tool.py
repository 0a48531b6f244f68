"""What tools about one file have in common: the argument that names it, and what is said of a call."""

from typing import TypeVar

from pydantic import Field

from desktop_agent.core.tools.arguments import PathText
from desktop_agent.core.tools.files.target import path_read
from desktop_agent.core.tools.tool import EditTool, ReadTool, ToolArguments, ToolContext


class FileArguments(ToolArguments):
    """Which file."""

    path: PathText = Field(description="The file, relative to the workspace.")


F = TypeVar("F", bound=FileArguments)


class FileReadTool(ReadTool[F]):
    """A tool that looks at one file."""

    def title(self, arguments: F) -> str:
        return arguments.path

    def paths(self, arguments: F, context: ToolContext) -> tuple[str, ...]:
        return (path_read(arguments.path, context),)


class FileEditTool(EditTool[F]):
    """A tool that changes one file."""

    def title(self, arguments: F) -> str:
        return arguments.path
