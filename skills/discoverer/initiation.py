def can_initiate(state):
    """The discoverer may start anywhere."""
    return True
