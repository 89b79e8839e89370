def can_initiate(state):
    """The ascender may start anywhere."""
    return True
