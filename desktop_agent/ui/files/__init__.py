"""The files of the workspace, with what git and the agent say about them."""

from desktop_agent.ui.files.file_panel import FileTree

__all__ = ["FileTree"]
