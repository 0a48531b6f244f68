"""Every change: recorded before it happens, shown as a diff, taken back without touching other work."""
