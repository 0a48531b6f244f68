"""Many runs: one task a line, each in a copy of its folder, each with exactly one result."""
