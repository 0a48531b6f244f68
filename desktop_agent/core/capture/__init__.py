"""Finds what a command changed: takes a snapshot before it, and compares afterwards (ADR 12).

The baseline, shared by the folder's sessions, is a cache: if it fails, work continues in memory.
"""
