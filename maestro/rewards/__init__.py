"""Reward models: fitted to preferences, kept with their cards, and turned into rewards."""
