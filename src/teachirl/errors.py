"""What can go wrong on the user's side, in one hierarchy; how a computation can end; and texts that
are safe to show."""

import enum
import unicodedata


class TeachirlError(Exception):
    """The root of every error that teachirl raises on purpose.

    Examples
    --------
    >>> import teachirl as ti
    >>> try:
    ...     ti.worlds.chain(0)
    ... except ti.TeachirlError as error:
    ...     print(type(error).__name__)
    InvalidInputError
    """


class InvalidInputError(TeachirlError, ValueError):
    """An argument does not meet its requirement; the message names it, the place and the value.

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.optimal_policy(ti.worlds.chain(3), [1, 2])
    Traceback (most recent call last):
        ...
    teachirl.errors.InvalidInputError: weights must have shape (3,), one a feature, got (2,)
    """


class FileFormatError(TeachirlError, ValueError):
    """A file is not what it claims to be; the message names the file and the place in it.

    Examples
    --------
    >>> import teachirl as ti
    >>> issubclass(ti.FileFormatError, ti.TeachirlError)
    True
    """


class MissingExtraError(TeachirlError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install.

    Parameters
    ----------
    package : str, what is not installed
    extra : str, the extra of teachirl that installs it

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.MissingExtraError("pyarrow", "parquet"))
    this needs pyarrow: install it with pip install 'teachirl[parquet]'
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs {package}: install it with pip install 'teachirl[{extra}]'")


def require(condition: bool, message: str) -> None:
    """Refuse a user's input with `message` unless `condition` holds."""
    if not condition:
        raise InvalidInputError(message)


class Status(enum.Enum):
    """How a computation ended; the text says what to do about it."""

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return str(self.value)


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


def one_line(text: str) -> str:
    r"""A legible text in one line, whatever is in it.

    Parameters
    ----------
    text : str

    Returns
    -------
    str, as long as `text`

    Examples
    --------
    >>> one_line("two\nlines") == "two\ufffdlines"
    True
    """
    return legible(text).replace("\n", "\ufffd").replace("\t", "\ufffd")
