"""Identifiers, errors, time, paths, plain text. Everything else depends on this package; it depends on nothing else."""
