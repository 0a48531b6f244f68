"""Identifiers, errors, time, paths, plain text: everything else depends on this package, and it on nothing else."""
