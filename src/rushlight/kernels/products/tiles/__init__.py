"""Matrix products on Intel's tile unit (AMX), in float32 accuracy: see ``panels.py``."""
