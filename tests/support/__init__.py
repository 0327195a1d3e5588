"""What the tests share: the example table, builders, numeric checks."""
