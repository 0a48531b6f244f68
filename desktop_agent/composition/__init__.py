"""Puts sessions together, opens and lists them. Front ends begin with the `Workbench`; only they import this.

`foundation` is what the sessions of a workbench share and what finds them on the disk. `session_opener` makes and opens
sessions: `assembly` puts one together of its `session_plan` and the `shared_parts`, with `tool_parts` for its calls. No
behaviour of its own.
"""
