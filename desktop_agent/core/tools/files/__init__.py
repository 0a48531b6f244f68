"""Files for tools: finding, listing, searching, reading as text, and planning edits.

`file_tool` is the common basis of tools about one file, `text_files` the text as the model sees it, `listing` the files
of folders and globs, `ripgrep` the results of a search, `suggest` similar names. Nothing here writes:
`core/tools/execution` carries out a planned edit.
"""
