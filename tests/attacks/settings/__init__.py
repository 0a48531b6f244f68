"""Broken settings files where safety depends on them: nothing runs that they may forbid."""
