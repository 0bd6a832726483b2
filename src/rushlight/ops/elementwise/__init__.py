"""Elementwise operations, one family a file."""
