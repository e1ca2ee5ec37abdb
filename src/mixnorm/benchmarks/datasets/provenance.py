"""What corrupted copies say of the set they were made of, in the record beside them."""

import json
from pathlib import Path

from mixnorm.errors import DataError

RECORD = "corruptions.json"


def stored_class_names(folder: Path) -> tuple[str, ...] | None:
    """Return the names of all classes in the order of their labels, or None where no record tells."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        names = json.loads(path.read_text(encoding="utf-8")).get("class_names")
        return None if names is None else tuple(map(str, names))
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataError(f"{path} is not the record of corrupted copies: {error}; make the copies again") from error


def class_folder_name(class_name: str) -> str:
    """Return the name of the folder that holds the copies of a class.

    >>> class_folder_name("red/green")
    'red_green'
    """
    return class_name.replace("/", "_")
