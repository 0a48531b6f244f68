"""The viewer: files of the workspace in tabs, in a separate window."""
