"""The files that a problem file names: where they may lie, and how large they may be."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from ...arrays import Floats
from ...errors import FileFormatError
from ...files import shown

# A file of this size is read in about a minute. What is larger belongs in an .npz.
MAX_BYTES = 256 << 20
MAX_STATES = 5_000_000
# What policies cannot change, and what there is to teach, are arrays of features by features: so
# many are 0.2 GB each.
MAX_FEATURES = 5_000
HEADER_BYTES = 512


@dataclass(frozen=True)
class Folder:
    """The folder of a problem file, in which the files that it names must lie.

    Attributes
    ----------
    path : the folder
    allow_outside : whether files may lie elsewhere as well
    digests : the SHA-256 of each file that was asked for, by its name
    """

    path: Path
    allow_outside: bool
    digests: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        """The regular file of this name, with all links resolved."""
        given = Path(name)
        if "\0" in name:
            raise FileFormatError(f"expected the name of a file, got {shown(name)}")
        if not self.allow_outside and (given.is_absolute() or ".." in given.parts):
            raise FileFormatError(
                f"expected a file in the folder of the problem file, got {shown(name)}; "
                "allow_outside = true allows for others"
            )
        try:
            root = os.path.realpath(self.path, strict=True)
            path = Path(os.path.realpath(Path(root) / given, strict=True))
            status = path.stat()
        except OSError as error:
            raise FileFormatError(f"cannot read {shown(name)}: {error.strerror or error}") from None
        if not self.allow_outside and not path.is_relative_to(root):
            raise FileFormatError(
                f"expected a file in the folder of the problem file, got {shown(name)}, a link to "
                "elsewhere; allow_outside = true allows for others"
            )
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError(f"expected a regular file, got {shown(name)}, which is none")
        if status.st_size > MAX_BYTES:
            raise FileFormatError(
                f"expected a file of at most {MAX_BYTES >> 20} MB, got {shown(name)} of "
                f"{status.st_size >> 20} MB"
            )
        try:
            with path.open("rb") as opened:
                self.digests[name] = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise FileFormatError(f"cannot read {shown(name)}: {error.strerror or error}") from None
        return path


def read_npy(path: Path, name: str) -> Floats:
    """A .npy file's numbers; nothing is allocated before its header was found to be true."""
    with path.open("rb") as file:
        try:
            read = {
                (1, 0): npy.read_array_header_1_0,
                (2, 0): npy.read_array_header_2_0,
            }[npy.read_magic(file)]
            shape, fortran, dtype = read(file, max_header_size=HEADER_BYTES)
        except Exception as error:  # what parsers raise on hostile text has no common type
            reason = f"{error}\n".splitlines()[0]
            raise FileFormatError(f"{name}: expected a .npy array, got {reason}") from None
        there = os.fstat(file.fileno()).st_size - file.tell()
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise FileFormatError(f"{name}: expected an array of numbers, got {dtype}")
        if len(shape) != 2 or min(shape) < 0 or shape[0] * shape[1] * dtype.itemsize != there:
            raise FileFormatError(
                f"{name}: expected an array [rows, features], got shape {shape} of {dtype} in "
                f"{there} bytes"
            )
        if shape[0] * shape[1] > MAX_FEATURES**2:
            raise FileFormatError(
                f"{name}: expected at most {MAX_FEATURES**2} numbers, got shape {shape}"
            )
        flat = np.frombuffer(file.read(there), dtype=dtype)
    table = flat.reshape(shape, order="F" if fortran else "C").astype(float)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise FileFormatError(
            f"{name}: expected finite numbers, got {table[row, column]} at index {row, column}"
        )
    return table


__all__ = ["MAX_BYTES", "MAX_FEATURES", "MAX_STATES", "Folder", "read_npy"]
