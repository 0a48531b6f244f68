"""One session that goes from vendor to vendor, through all three wire formats, on servers of ours and of others."""
