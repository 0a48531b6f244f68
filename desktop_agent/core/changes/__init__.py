"""Changes of files: recorded before they happen, shown as diffs, and undone without touching other work."""
