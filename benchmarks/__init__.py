"""Speed of agnesi beside its peers: `python -m benchmarks`, or `make bench`."""
