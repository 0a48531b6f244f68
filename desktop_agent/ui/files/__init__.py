"""The files of the workspace, with their git status and the agent's changes."""

from desktop_agent.ui.files.file_panel import FileTree

__all__ = ["FileTree"]
