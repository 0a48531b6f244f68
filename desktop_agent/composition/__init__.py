"""Puts sessions together, opens and lists them. Front ends begin with the `Workbench`; only they import this."""
