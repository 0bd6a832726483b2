"""Windows over images: their axes, and the staging of images so that every tap reads rows."""
