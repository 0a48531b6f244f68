"""Many runs: each line is a task, which runs in a copy of its folder and has exactly one result."""
