"""The methods of test-time adaptation: one frozen dataclass per file."""
