"""A message of the user, with what came with it and the field in which it is edited."""
