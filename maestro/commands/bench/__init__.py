"""Measure speed, in steps per second and as a multiple of bare NetHack on the same machine."""
