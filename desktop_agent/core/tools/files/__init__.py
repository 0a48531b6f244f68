"""Files as tools see them: found, listed, searched, read as text, and changed without touching other bytes.

`file_tool` is what tools about one file begin with, `text_files` text as the model sees it, `listing` what folders hold
and which names match, `ripgrep` what a search found, `suggest` what the model may have meant. Nothing here writes: an
edit is planned, and `core/tools/execution` carries it out.
"""
