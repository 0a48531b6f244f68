"""Carries out calls: decides, approves, confines, records, captures and answers them.

`runtime` runs the calls of one message. `executor` carries out one call with the session's `Toolbox`, and `confiner`
confines commands. `effects` records and applies changes (`recording` stores them). `job_watch` follows programs that
can write while no call waits for them, and `writers` decides which of them made a change. `safeguard` copies what a
command may destroy, and restores it.
"""
