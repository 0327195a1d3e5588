"""The commands: ``penstock run``, ``penstock demo``, ``penstock version``."""
