"""Requests of a server of a language model, drawn before its simulation."""
