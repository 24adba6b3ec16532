"""Tests of the Python package, which is installed from its wheel."""
