"""Where two versions of a file differ, and all that drawing it needs to know."""
