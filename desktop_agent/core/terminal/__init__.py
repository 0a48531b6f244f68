"""A terminal emulator for the user's own terminal and for everything that programs print.

`emulator` works on a `screen` of `rows`. `printout` reads outputs: of a command for the model, on the command's card,
in its own window, and in exports. It keeps tabs and trailing spaces as printed, and passes on rows that no longer
change.
"""
