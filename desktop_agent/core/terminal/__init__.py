"""A terminal emulator for the user's own terminal and for all program output.

`emulator` works on a `screen` of `rows`. `printout` reads output for the model, cards, windows and exports. It
preserves tabs and trailing spaces, and passes on rows that no longer change.
"""
