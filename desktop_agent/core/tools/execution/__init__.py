"""How calls are carried out: decided, asked about, confined, written down, captured, answered.

`runtime` runs the calls of one message: what goes side by side, one result each. `executor` is how one call acts, by
the kind of its tool and with what is in its `Toolbox`; `confiner` confines commands.

`effects` is what is written down before and after files change: `recording` puts changes on record, first those of the
user, then what a command changed; `job_watch` follows programs that may write while no call waits for them, and
`writers` says whether one of them, a background command or a server, made a change. `safeguard` copies what a command
may destroy before it runs, and puts back what it lost.
"""
