"""The changes of files. Each is recorded before it happens, shown as a diff, and undone without touching other work.

`ledger` makes images durable before it writes. It follows no symlink and no hard link to a file elsewhere, and notices
if another program writes in between. `workspace_files` says how files are now, `folder_moves` moves a folder to another
path. `net` and `attribution` compute the net effect of several changes and who made it, and `patch` writes it for `git
apply`.

Comparing is in `core/diff`, finding what a command changed in `core/capture`, undo in `core/undo`.
"""
