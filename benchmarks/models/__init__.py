"""The source documents' networks, written once: ``lib`` is agnesi or PyTorch, whose names agree."""
