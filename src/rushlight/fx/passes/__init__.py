"""Passes: programs that work on graphs."""
