"""Searching by index: in the files of a workspace, and through all sessions."""
