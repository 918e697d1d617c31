"""The guide for teachers of a lesson: its notes, and the answers to its questions."""
