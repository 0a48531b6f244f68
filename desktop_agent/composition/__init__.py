"""Puts sessions together, opens and lists them. Front ends begin with the `Workbench`; only they import this.

`application` is what the sessions of a data folder share, `session_context` what one has to itself, of which `assembly`
makes the session. `session_opener` makes and opens them. No behaviour of its own.
"""
