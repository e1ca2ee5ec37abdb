"""Streams: batches of images, labels and shifts in a stated, seeded order that no batch size changes."""

from mixnorm.benchmarks.streams.batches import Batch
from mixnorm.benchmarks.streams.load import load_stream
from mixnorm.benchmarks.streams.orders import ORDERS
from mixnorm.benchmarks.streams.stream import Stream

__all__ = ["ORDERS", "Batch", "Stream", "load_stream"]
