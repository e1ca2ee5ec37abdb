"""The sentences of zero-shot classification: templates for the data sets of the paper, and names fit to be spoken.

The templates are plain ones written for mixnorm; others, such as CLIP's published sets, can be given to `zero_shot`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from mixnorm.errors import SettingError

PLACE = "{}"
GENERAL = ("a photo of a {}.",)
TEMPLATES: dict[str, tuple[str, ...]] = {
    "cifar10": ("a photo of a {}.", "a tiny photo of a {}.", "a coarse picture of one {}."),
    "cifar100": ("a photo of a {}.", "a tiny photo of a {}.", "a coarse picture of one {}."),
    "food101": ("a photo of {}.", "a photo of a plate with {}.", "a photo of {}, something to eat."),
    "stanford-cars": ("a photo of a {}.", "a photo of a {} car.", "a car on the road, a {}."),
    "stl10": ("a photo of a {}.", "a picture of one {}."),
}


def templates_for(data: str) -> tuple[str, ...]:
    """Return the templates of a data set, corrupted or not; a set that is not known gets the general one.

    >>> templates_for("cifar10-c") == TEMPLATES["cifar10"], templates_for("photos")
    (True, ('a photo of a {}.',))
    """
    return TEMPLATES.get(data.removesuffix("-c"), GENERAL)


def spoken_names(data: str, class_names: Sequence[str]) -> tuple[str, ...]:
    """Return the class names of a data set as one would say them; refuse numbers and ids, which say nothing.

    >>> spoken_names("food101", ["apple_pie", "baklava"])
    ('apple pie', 'baklava')
    """
    if all(re.fullmatch(r"n?\d+", name) for name in class_names):
        raise SettingError(
            f"the classes of {data} go by numbers or ids ({', '.join(class_names[:3])}, ...), of which a text encoder "
            "knows nothing; name them (class_names in an .npz, the folders of an image folder), or write a "
            "FILE.py:FACTORY that returns mixnorm.zero_shot(clip_model, class_names, templates)"
        )
    return tuple(" ".join(name.replace("_", " ").split()) for name in class_names)


def checked_names(class_names: Iterable[str]) -> tuple[str, ...]:
    """Return class names in their order, or say what is wrong with them."""
    names = _texts("class_names", class_names, "['cat', 'dog']")
    seen: dict[str, str] = {}
    for name in names:
        spoken = " ".join(name.split()).casefold()
        if spoken in seen:
            raise SettingError(
                f"class_names has {seen[spoken]!r} and {name!r}, which are the same; give each class once"
            )
        seen[spoken] = name
    return names


def checked_templates(templates: Iterable[str]) -> tuple[str, ...]:
    """Return templates, or say what is wrong with them."""
    texts = _texts("templates", templates, "['a photo of a {}.']")
    for text in texts:
        if PLACE not in text:
            raise SettingError(f"the template {text!r} has no {PLACE} where the name of the class goes")
    return texts


def sentences(names: Sequence[str], templates: Sequence[str]) -> list[str]:
    """Put each name in each template, template by template; other braces are text like any other.

    >>> sentences(["cat", "dog"], ["a {}.", "one {}."])
    ['a cat.', 'a dog.', 'one cat.', 'one dog.']
    """
    return [template.replace(PLACE, name) for template in templates for name in names]


def _texts(what: str, given: object, example: str) -> tuple[str, ...]:
    # A set has no order, and the place of a name is the number of its class.
    if isinstance(given, str | bytes | Set | Mapping) or not isinstance(given, Iterable):
        raise SettingError(
            f"{what} must be a list of texts such as {example}, got the {type(given).__name__} {given!r}"
        )
    texts = tuple(given)
    if not texts:
        raise SettingError(f"{what} is empty; give at least one text, such as {example}")
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise SettingError(f"{what} must be texts that are not empty, got {text!r} at place {place}")
    return tuple(map(str, texts))
