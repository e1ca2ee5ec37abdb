"""Adapting a model: replacing its BatchNorm layers, running the replaced model, keeping its state."""
