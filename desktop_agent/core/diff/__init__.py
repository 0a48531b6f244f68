"""The differences of two versions of a file, and the data to draw them.

Pure except for `comparing` and `comparison_process`, which compare big files in another process.
"""
