"""Makes the modules of this folder, which several tests share, importable from the folders below."""
