"""Index-based search: in the files of a workspace, and through all sessions."""
