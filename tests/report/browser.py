"""A real browser without a window."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--enable-logging=stderr",
    "--force-device-scale-factor=1",
]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium to test the page in one")


def browse(page: Path, profile: Path, *flags: str) -> tuple[str, list[str]]:
    """Open a page in a new browser and return what it prints, and what the page wrote to the console."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *QUIET, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
