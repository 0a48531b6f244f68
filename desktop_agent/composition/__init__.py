"""Puts sessions together, opens and lists them. Front ends begin with the `Workbench`; only they import this.

`application` holds what the sessions of a data folder share, `session_context` makes the parts of one of them, and
`session_opener` creates and opens sessions. These modules only connect others, and have no behaviour of their own.
"""
