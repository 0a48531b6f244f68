"""The tools that come with the application, one module per tool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.builtin.codebase_search import CodebaseSearch
from desktop_agent.core.tools.builtin.create_file import CreateFile
from desktop_agent.core.tools.builtin.delete_file import DeleteFile
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.glob_file_search import GlobFileSearch
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.job_control import JobControl
from desktop_agent.core.tools.builtin.line_edit import LineEdit
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.builtin.rename_file import RenameFile
from desktop_agent.core.tools.builtin.request_approval import RequestApproval
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd
from desktop_agent.core.tools.builtin.template_block import TemplateBlock
from desktop_agent.core.tools.builtin.todo_write import TodoWrite
from desktop_agent.core.tools.builtin.view_image import ViewImage
from desktop_agent.core.tools.builtin.web_fetch import WebFetch
from desktop_agent.core.tools.builtin.web_search import WebSearch
from desktop_agent.core.tools.mcp_tool import McpTool
from desktop_agent.core.tools.tool import EditTool, ReadTool

AnyTool = ReadTool[Any] | EditTool[Any] | RunTerminalCmd | McpTool


def builtin_tools(
    cache_folder: Path, *, longest_command_s: Callable[[], float | None] = lambda: None
) -> tuple[AnyTool, ...]:
    """Return the tools in the order in which the model sees them. `longest_command_s` is called for each command."""
    return (
        ReadFile(),
        ListFiles(),
        Grep(),
        GlobFileSearch(),
        CodebaseSearch(cache_folder),
        ViewImage(),
        EditFile(),
        ApplyPatch(),
        LineEdit(),
        TemplateBlock(),
        CreateFile(),
        DeleteFile(),
        RenameFile(),
        RunTerminalCmd(longest_s=longest_command_s),
        JobControl(),
        TodoWrite(),
        RequestApproval(),
        WebSearch(),
        WebFetch(),
    )
