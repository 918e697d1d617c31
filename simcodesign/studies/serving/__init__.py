"""Serving of language models: the forecast of a server beside its replicated simulation."""
