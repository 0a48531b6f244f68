"""Settings: declared once with their types, defaults and words, read from TOML, immutable.

`sections` declares them, `values` checks and changes single ones, `loading` reads the user's file. What is in force
at the moment is in `live_settings`, and in one folder in `workspace_settings`.
"""
