"""XNNPACK: not used."""

enabled = False
