"""How long a question must have been in sight before a yes counts."""

ARMING_DELAY_MS = 300
"""A key or a click that comes sooner may have been meant for what was there before."""
