"""``torch.profiler``: who ran when, as tables and traces."""
