"""What everything else depends on, and what depends on nothing else: identifiers, errors, time, paths, plain text."""
