"""What the review and the rule editor are given: diffs, git's view, the policy's judgement."""
