"""The ``tensorflow`` alias."""
def install_as_tensorflow():
    pass
