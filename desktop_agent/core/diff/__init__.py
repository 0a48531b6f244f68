"""How two versions of a file differ, and all that drawing the difference needs. No ledger, undo, session or Qt.

Pure except for `comparing` and `comparison_process`, which compare big files in a process of their own.
"""
