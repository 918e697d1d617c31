"""From the steps of a program to operations."""
