"""Predictions for more ranks than were measured, anchored at the largest scale that was."""
