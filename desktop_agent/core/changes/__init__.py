"""Every change: recorded before it happens, shown as a diff, taken back without touching other work.

`ledger` makes images durable before it writes; it follows no symlink and no hard link to a file elsewhere, and notices
other writers in between. `workspace_files` says how files are now, `folder_moves` gives a folder another path. `net`
and `attribution` say what several changes come to, and `patch` writes them for `git apply`.

Comparing is in `core/diff`, what a command changed is found in `core/capture`, taking back is in `core/undo`.
"""
