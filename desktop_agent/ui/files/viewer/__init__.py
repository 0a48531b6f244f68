"""The viewer: files of the workspace in tabs, in a window beside the conversation."""
