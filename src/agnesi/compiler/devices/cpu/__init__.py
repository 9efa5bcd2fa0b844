"""The host processor: kernels with vectors and threads, or scalar code as a reference."""
