"""The tools that come with the application, one module per family."""

from desktop_agent.core.tools.builtin.create_file import CreateFile
from desktop_agent.core.tools.builtin.delete_file import DeleteFile
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.builtin.run_terminal_cmd import DEFAULT_TIMEOUT_S, RunTerminalCmd
from desktop_agent.core.tools.spec import AnyTool


def first_tools(
    *, command_timeout_s: float = DEFAULT_TIMEOUT_S, longest_command_s: float | None = None
) -> tuple[AnyTool, ...]:
    """Return the tools that every session has, in the order the model is told of them.

    A foreground command may take `command_timeout_s` unless its call says otherwise, and never `longest_command_s`.
    """
    return (
        ReadFile(),
        ListFiles(),
        Grep(),
        EditFile(),
        CreateFile(),
        DeleteFile(),
        RunTerminalCmd(command_timeout_s, longest_s=longest_command_s),
    )
