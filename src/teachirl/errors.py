"""What can go wrong on the user's side, in one hierarchy; and texts that are safe to show."""

import unicodedata


class TeachirlError(Exception):
    """The root of every error that teachirl raises on purpose."""


class InvalidInputError(TeachirlError, ValueError):
    """An argument does not meet its requirement; the message names it, the place and the value."""


class FileFormatError(TeachirlError, ValueError):
    """A file is not what it claims to be; the message names the file and the place in it."""


class MissingExtraError(TeachirlError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs {package}: install it with pip install 'teachirl[{extra}]'")


def require(condition: bool, message: str) -> None:
    """Refuse a user's input with `message` unless `condition` holds."""
    if not condition:
        raise InvalidInputError(message)


def legible(text: str) -> str:
    """A text with a mark for each character that would steer a terminal, or turn its lines round.

    Line breaks and tabs stay, and what joins letters of a script.

    Parameters
    ----------
    text : str, with names from anywhere

    Returns
    -------
    str, as long as `text`

    Examples
    --------
    >>> legible("a \x1b[31mred\u202e title") == "a \ufffd[31mred\ufffd title"
    True
    """
    if text.isprintable():
        return text
    kept = "\n\t\u200c\u200d"
    steering = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "".join(
        each if each in kept or unicodedata.category(each) not in steering else "\ufffd"
        for each in text
    )
