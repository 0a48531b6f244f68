"""What a terminal makes of a program's bytes: one emulator, for the user's own terminal and for all printed output.

`emulator` works on a `screen` of `rows`. `printout` reads outputs: a command's for the model, on its card and in its
own window, and in exports. It keeps tabs and blanks as they were printed, and passes on rows that no longer change.
"""
