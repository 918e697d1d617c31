"""Passes: how a Plan is made of lowered operations, step by step."""
