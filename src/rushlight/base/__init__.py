"""The ground everything stands on: dtypes, devices, shapes, strided memory, errors with hints."""
