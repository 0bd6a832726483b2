"""Convolutions on Intel's tile unit (AMX), in float32 accuracy: see ``products/tiles/panels.py``."""
