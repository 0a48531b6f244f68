"""The sources of the review and of the rule editor: diffs, git's differences, and the evaluation of rules."""
