"""All Qt code. Widgets draw the transcript and submit ops; they hold no session state of their own.

Panels do not import each other: `main_window` connects them by signals. For a fast first paint, modules imported before
it use only `protocol`, `transcript` and `base` of the core.
"""
