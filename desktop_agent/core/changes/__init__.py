"""Changes of files: recorded before they happen, shown as diffs, and undone without touching other work.

`ledger` makes images durable before it writes. `workspace_files` reads the present files, and `folder_moves` moves a
folder. `net` and `attribution` compute the net effect of several changes and their authors, and `patch` writes it for
`git apply`.
"""
