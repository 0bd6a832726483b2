"""Linear algebra, one family a file."""
