"""Which changed files are listed: within a baseline, filtered, with what was decided about each."""
