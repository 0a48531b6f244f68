"""Profiles of Anthropic's own tools: API access that the user signed in for there, read and renewed as their SDK does.

The format is that of the SDK's `lib/credentials`; a test compares the two. Claude Code's own sign-in is another thing,
and is not read: docs/guide/sign-in.md.
"""
