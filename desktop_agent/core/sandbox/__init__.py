"""Sandboxes: the kernel confines a command to what it needs. A sandbox refuses what it cannot enforce."""
