"""Whether copies can go where they are asked to go, found out before any work."""

import os
from pathlib import Path

from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.errors import SettingError


def check_output(output: Path) -> None:
    """Refuse an output that no folder can be made at."""
    ancestors = (output, *output.absolute().parents)
    nearest = next((each for each in ancestors if os.path.lexists(each)), None)
    if nearest is None:
        raise SettingError(f"the output {output} cannot be made: there is no {ancestors[-1]}; give a folder elsewhere")
    if not nearest.is_dir():
        raise SettingError(f"the output {output} cannot be made: {nearest} is not a folder; give another name")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise SettingError(f"the output {output} cannot be made: {nearest} may not be written; give a folder elsewhere")


def check_apart(output: Path, dataset: Dataset) -> None:
    """Refuse an output inside of the input, where it would be read as a class the next time."""
    if isinstance(dataset, FileDataset) and output.resolve().is_relative_to(dataset.root.resolve()):
        raise SettingError(
            f"the output {output} lies inside of the input {dataset.root}, and would be read as a class of it later; "
            f"give a folder elsewhere"
        )
