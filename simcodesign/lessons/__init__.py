"""Lessons: folders of text and questions, computed by both readings and written as one page."""
