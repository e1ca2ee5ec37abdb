"""Normalisation with re-estimated statistics: pure functions, and the layers that hold state and call them."""
