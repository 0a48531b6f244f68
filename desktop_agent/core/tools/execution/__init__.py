"""How calls are carried out: decided, approved, confined, recorded, captured and answered.

`runtime` runs the calls of one message: it decides which run side by side, and gives each one result. `executor`
carries out one call, depending on the kind of its tool, with what is in its `Toolbox`; `confiner` confines commands.

`effects` is what is recorded before and after files change. `recording` records changes, first the user's, then those
of a command. `job_watch` follows programs that can write while no call waits for them, and `writers` decides whether
one of them, a background command or a server, made a change. `safeguard` copies what a command may destroy before it
runs, and puts back what it lost.
"""
