"""Changes to files: what differs, how to show it, how to hand it on as a patch."""
