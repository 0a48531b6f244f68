"""The wire formats that the model server speaks, one module each."""
