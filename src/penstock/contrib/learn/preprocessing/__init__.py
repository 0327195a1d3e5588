"""Texts and categories as numbers, for estimators that want arrays."""
