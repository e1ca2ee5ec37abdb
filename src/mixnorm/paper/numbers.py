"""Numbers as text, the same way in the terminal and on pages."""

NO_NUMBER = "-"


def percent(value: float | None) -> str:
    """Write a percentage with the paper's two decimals.

    >>> percent(31.9555), percent(None)
    ('31.96', '-')
    """
    return NO_NUMBER if value is None else f"{value:.2f}"


def setting(value: float | None) -> str:
    """Write a setting or a count.

    >>> setting(1e-07), setting(50000.0), setting(None)
    ('1e-07', '50000', '-')
    """
    return NO_NUMBER if value is None else f"{value:g}"
