"""Puts sessions together, opens and lists them. Front ends begin with the `Workbench`; only they import this.

`application` holds what the sessions of a data folder share, `session_context` what belongs to one of them; `assembly`
builds the session from its context, and `session_opener` creates and opens sessions. No behaviour of its own.
"""
