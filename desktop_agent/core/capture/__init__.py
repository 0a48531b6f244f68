"""Finds what a command changed: takes a snapshot before it, and compares afterwards.

`capture` has the main class. It walks the folder (`scan`; a big folder in two processes, by `shared_scanner` and
`scan_process`, ADR 12). `baseline` stores the results in numbered generations (rows in `entry_table`), which all
sessions of the folder share. A snapshot is a generation that a session still needs. Contents that git has are not
copied, but linked so that git cannot lose them (`git_objects`). `transitions` orders the differences and finds renames.
`safety` copies files that a command may destroy and that the capture does not watch.

The database is a cache: if it fails, work continues in memory, and `Effects` reports the failure once. The application
announces its own writes here. Changes between two calls are recorded as the user's.
"""
