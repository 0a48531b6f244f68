"""Approvals: the dialog that asks before something runs or changes."""
