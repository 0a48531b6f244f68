"""Where two versions of a file differ, and all that drawing it needs to know. No ledger, no undo, no session, no Qt.

Pure but for `comparing` and `comparison_process`, which compare big files in a process of their own.
"""
