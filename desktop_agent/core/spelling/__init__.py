"""Spelling of what the user writes, by the dictionaries of the system."""
