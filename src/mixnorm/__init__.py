"""Test-time adaptation of BatchNorm models in PyTorch: one line, any batch size, any mixture of shifts."""

__version__ = "0.1.0"
