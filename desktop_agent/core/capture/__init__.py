"""Finds what a command changed: a snapshot before it, a report after it, and contents kept while they are needed.

`capture` looks at the folder before and after a command. It walks the folder (`scan`; a big one in two processes at
once, by `shared_scanner` and `scan_process`, ADR 12) and stores what was there in numbered generations (`baseline`,
with its `entry_table`), shared by all sessions of the folder. A snapshot is a generation that a session still needs, so
one session's look hides nothing from another. Only contents that git does not have are copied; what git has is held so
that git cannot lose it (`git_objects`). The database is a cache: if it fails, everything continues in memory, and
`Effects` reports that once. `transitions` orders the differences and finds renames. `safety` copies what a command may
destroy and the capture does not watch.

What the application writes is announced here, so that it is not attributed to a command. What the user changed between
two calls is recorded first, as the user's. A background command keeps its snapshot, which advances with every look:
when the command ends, at the end of a turn, before another call writes, before an undo, when the model asks for its
jobs, and when the user opens the review. After a crash, the next start looks one last time.

Nothing here decides whether a command may run, and nothing takes anything back.
"""
