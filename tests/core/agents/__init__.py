"""Tests of agents of other programs: how they are configured, and where they are found."""
