"""What `fit` does, with its kinds of models."""
