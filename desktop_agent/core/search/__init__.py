"""Index-based search: in the files of a workspace, and in all sessions."""
