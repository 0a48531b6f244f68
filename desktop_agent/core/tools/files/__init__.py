"""Files as tools see them: found, listed, searched, read as text, and changed without touching other bytes.

`file_tool` is the common basis of tools about one file, `text_files` text as the model sees it, `listing` what folders
hold and which names match, `ripgrep` the results of a search, `suggest` what the model may have meant. Nothing here
writes: an edit is planned, and `core/tools/execution` carries it out.
"""
