"""Strings, parsing and files."""
