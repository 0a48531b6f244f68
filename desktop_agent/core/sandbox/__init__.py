"""Sandboxes: the kernel confines a command to what it needs.

A sandbox that cannot enforce a `ConfinementSpec` refuses the command. Only bubblewrap enforces `hidden`.
"""
