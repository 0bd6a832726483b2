"""Datasets in steps: pipes over pipes, by their classes (`iter`, `map`) or as methods of one another."""

from . import iter, map
from .pipes import IterDataPipe, MapDataPipe, functional_datapipe

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe", "iter", "map"]
