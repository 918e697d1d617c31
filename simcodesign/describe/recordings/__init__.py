"""Recordings of programs, from traces that other tools write: builder, file, readers and writer."""
