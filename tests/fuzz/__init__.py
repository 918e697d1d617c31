"""Fuzzing of every reader and command: valid inputs, damaged at random, which work or are refused with a message.

``python -m tests.fuzz 12345`` repeats one case and shows it; ``python -m tests.fuzz 0:20000`` runs many.
"""
