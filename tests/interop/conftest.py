"""The script that test_dispatch.py runs is no module of tests."""

collect_ignore = ["dispatch.py"]
