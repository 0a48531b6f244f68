"""Attacks on sandbox and policy, kept as tests. The test command runs a tenth of them, the nightly profile all."""
