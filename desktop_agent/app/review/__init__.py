"""The sources of the review and the rule editor: diffs, git's differences, and the policy's judgement of rules."""
