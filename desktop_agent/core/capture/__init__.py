"""Finds what a command changed: takes a snapshot before it, reports after it, and keeps contents while they are needed.

`capture` looks at the folder before and after a command. It walks the folder (`scan`; a big one in two processes at
once, by `shared_scanner` and `scan_process`, ADR 12) and stores what was there in numbered generations (`baseline`,
with its `entry_table`), shared by all sessions of the folder. A snapshot is a generation that a session still needs, so
what one session has already seen is still reported to the others. Only contents that git does not have are copied;
those that git has are held, so that git cannot lose them (`git_objects`). The database is a cache: if it fails,
everything continues in memory, and `Effects` reports that once. `transitions` orders the differences and finds renames.
`safety` copies files that a command may destroy and that the capture does not watch.

What the application writes is announced here, so that it is not attributed to a command. What the user changed between
two calls is recorded as the user's, before the second call. A background command keeps its snapshot, which advances
with every look: when the command ends, at the end of a turn, before another call writes, before an undo, when the model
asks for its jobs, and when the user opens the review. After a crash, the next start looks one last time.

Nothing here decides whether a command may run, and nothing here undoes a change.
"""
