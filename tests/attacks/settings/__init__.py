"""Settings files that are broken where safety depends on them: nothing runs under what they do not say."""
