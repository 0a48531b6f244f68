"""What a command changed: a snapshot before it, a report after it, contents kept for as long as they are needed.

`capture` looks before and after a command. It walks the folder (`scan`; a big one in two processes at once, by
`shared_scanner` and `scan_process`, ADR 12) and keeps what was there in numbered generations (`baseline`, with its
`entry_table`), shared by all sessions of the folder. A snapshot is a generation that a session still needs, so one
session's look hides nothing from another. Contents are copied only of what git does not have, and what it has is held
so that git cannot lose it (`git_objects`). The database is a cache: if it fails, everything goes on in memory, and
`Effects` says so once. `transitions` puts the differences in an order and finds renames. `safety` copies what a command
may destroy and the capture does not watch.

What the application writes is announced here, so that no command is held responsible for it. What the user changed
between two calls is recorded first, as theirs. A background command keeps its snapshot, which moves on with every look:
at its end, at the end of a turn, before another call writes, before an undo, when the model asks for its jobs, and when
the user opens the review. After a crash the next start looks a last time.

Nothing here decides whether a command may run or takes anything back.
"""
