"""What both of OpenAI's formats share: errors, the list of models, sizes."""
