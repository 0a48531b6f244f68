"""Background commands: jobs that outlive the tool call that started them, but never the application.

A session owns one `Jobs`. Closing it ends every job's whole process tree.
"""
