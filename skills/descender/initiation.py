def can_initiate(state):
    """The descender may start anywhere."""
    return True
