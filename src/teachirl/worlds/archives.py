"""A stranger's tar, in memory: members that are files, and no larger than they may be.

Nothing is written to disk and no link is followed. What headers declare is added up before anything
is read, and compared with the size of the file: what was compressed beyond belief is a bomb.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from ..errors import FileFormatError

MAX_BYTES = 1 << 30  # of all members together
MAX_MEMBERS = 20_000
# Honest models are 10 to 50 times smaller than what is in them; small ones may be anything.
MAX_RATIO, SMALL = 500, 64 << 20
# What a header may take: tarfile reads long names, and what else it is told of a member, at once.
MAX_HEADER = 1 << 20
COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
BROKEN = (tarfile.TarError, EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


class _Bounded:
    """A stream that gives only so much at once, until it was looked through."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.most = stream, MAX_HEADER

    def read(self, size: int = -1) -> bytes:
        if size > self.most:
            raise ValueError(f"a header of {size} bytes")
        return bytes(self.stream.read(size))

    def seek(self, place: int, whence: int = 0) -> int:
        return int(self.stream.seek(place, whence))

    def tell(self) -> int:
        return int(self.stream.tell())


class Archive:
    """The files of a tar, by name.

    Parameters
    ----------
    stream : binary stream, compressed or not
    source : str, what messages call it
    size : int, that of the file
    """

    def __init__(self, stream: IO[bytes], source: str, size: int) -> None:
        self.source = source
        begin = stream.read(8)
        stream.seek(0)
        plain = next((c(stream) for key, c in COMPRESSED.items() if begin.startswith(key)), stream)
        bounded = _Bounded(plain)
        self.tar = tarfile.TarFile(fileobj=bounded)  # type: ignore[arg-type]  # all that it asks for
        self.members: dict[str, tarfile.TarInfo] = {}
        most = min(MAX_BYTES, max(SMALL, MAX_RATIO * size))
        total = 0
        for count, member in enumerate(self.tar):
            total += member.size
            if count >= MAX_MEMBERS or total > most:
                self.fail(
                    f"expected at most {MAX_MEMBERS} members and {most >> 20} MB in a file of its "
                    "size, got more"
                )
            if member.name.startswith("/") or ".." in member.name.split("/"):
                self.fail(f"expected members in the archive itself, got {member.name[:80]!r}")
            if not (member.isfile() or member.isdir()):
                self.fail(f"expected files and folders, got a link or device {member.name[:80]!r}")
            if member.isfile():
                self.members[member.name.removeprefix("./")] = member
        bounded.most = MAX_BYTES

    def fail(self, message: str) -> NoReturn:
        raise FileFormatError(f"{self.source}: {message}")

    def read(self, name: str, size: int | None, most: int = MAX_BYTES) -> bytes:
        """A member's content, which must be as large as that."""
        member = self.members.get(name)
        if member is None:
            self.fail(f"expected a member {name}, got none")
        if (size is not None and member.size != size) or member.size > most:
            wanted = f"{size}" if size is not None else f"at most {most}"
            self.fail(f"{name}: expected {wanted} bytes, got {member.size}")
        file = self.tar.extractfile(member)
        raw = b"" if file is None else file.read()
        if len(raw) != member.size:
            self.fail(f"{name}: expected {member.size} bytes, but it is cut off")
        return raw


@contextmanager
def opened(path: Path, what: str) -> Iterator[Archive]:
    """The archive at a path; one that is not what it claims to be is a `FileFormatError`."""
    with path.open("rb") as stream:
        try:
            yield Archive(stream, str(path), os.fstat(stream.fileno()).st_size)
        except FileFormatError:
            raise
        except BROKEN as error:
            raise FileFormatError(f"{path}: this is no {what} file: {error}") from None


__all__ = ["Archive", "opened"]
