"""What `rushlight.utils.benchmark` is made of, under PyTorch's names of files."""
