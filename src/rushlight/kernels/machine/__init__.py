"""This machine: what code it runs, code in memory and on disk, threads, launches, scratch memory."""
