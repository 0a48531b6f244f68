"""Getting a model to answer: connections are tested, sign-ins carried out, and what the user chose is kept."""
