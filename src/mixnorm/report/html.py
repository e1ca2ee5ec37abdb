"""Elements of a page: text is escaped by construction, only an element is taken as it is."""

import html

VOID = frozenset({"meta", "img", "path", "line", "rect", "circle", "polyline", "polygon", "use"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: object) -> Html:
    """Make an element; children that are not `Html` are escaped, and so are the values of attributes.

    A trailing underscore keeps a name from being Python's, other underscores stand for dashes, and None leaves an
    attribute out.

    >>> element("p", "a < b, ", element("b", "really"), class_="note")
    '<p class="note">a &lt; b, <b>really</b></p>'
    """
    opening = "".join([tag, *(_attribute(name, value) for name, value in attributes.items() if value is not None)])
    if tag in VOID and not children:
        return Html(f"<{opening}/>")
    return Html(f"<{opening}>{join(*children)}</{tag}>")


def join(*parts: str) -> Html:
    """Put parts one after the other; those that are not `Html` are escaped."""
    return Html("".join(part if isinstance(part, Html) else html.escape(part) for part in parts))


def _attribute(name: str, value: object) -> str:
    name = name.rstrip("_").replace("_", "-")
    return f' {name}="{html.escape(_short(value))}"'


def _short(value: object) -> str:
    """Write a coordinate with as many digits as a screen shows; anything else as it is."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
