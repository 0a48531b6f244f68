"""The search index of a workspace: ranked passages of its text files for a question in words.

`index.CodeIndex` is the door. Below it: `symbols` finds what a file defines, `passages` cuts it into windows of lines,
`words` splits identifiers and turns a question into an FTS5 expression, `database` keeps it all in one SQLite file.
"""
