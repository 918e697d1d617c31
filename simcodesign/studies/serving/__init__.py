"""Serving of language models: the forecast of a server and its replicated simulation."""
