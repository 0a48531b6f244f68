"""How two versions of a file differ, and all that is needed to draw the difference. No ledger, undo, session or Qt.

Pure except for `comparing` and `comparison_process`, which compare big files in a process of their own.
"""
