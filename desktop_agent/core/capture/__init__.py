"""Finds what a command changed: takes a snapshot before it, and compares afterwards.

`capture` walks the folder (ADR 12) and stores the result in a `baseline` that all sessions of the folder share. The
baseline is a cache: if it fails, work continues in memory. Other changes are recorded as the user's.
"""
