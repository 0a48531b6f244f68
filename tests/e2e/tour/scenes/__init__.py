"""The scenes of the tour, each with the states that are seen in it."""
