"""What the review and the rule editor are given: differences, git's view, the policy's judgement."""
