"""Starting a program that Ctrl-C can interrupt, however the tests themselves were started."""

import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a program that hears SIGINT: what a shell runs in the background ignores it, and hands that on."""
    return subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
