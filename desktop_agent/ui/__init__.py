"""Everything Qt. Widgets draw the transcript and submit ops; they hold no truth of their own.

Panels do not import each other: `main_window` wires them by signals. To keep the first paint fast, modules imported
before it import only the core's vocabulary: `protocol`, `transcript`, `base`.
"""
