"""Converts the protein types of Python programs."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Union

#: One protein: a sequence, FASTA of one record, the path of such a file, or Biopython's SeqRecord or Seq.
Protein = Union[str, "os.PathLike[str]", Any]
#: Header of UniProt.
UNIPROT_HEADER = re.compile(r"(?:sp|tr)\|([A-Z0-9]+(?:-[0-9]+)?)\|\S")
#: Several proteins: a list of them, a mapping of names to sequences, the path of a FASTA file, plain or gzip, or FASTA text.
Proteins = Union[Protein, Iterable[Any], Mapping[str, str]]


class NamedSequence(NamedTuple):
    """A protein and its name in the input: of a FASTA header its id."""

    name: Optional[str]
    sequence: str


def read_protein(protein: Protein) -> NamedSequence:
    """Returns the protein. Raises ValueError unless there is exactly one."""
    proteins = list(read_proteins(protein))
    if len(proteins) == 1:
        return proteins[0]
    raise ValueError(f"one protein is expected, got {len(proteins)}; submit() takes several")


def read_proteins(proteins: Proteins) -> Iterator[NamedSequence]:
    """Yields the proteins in order. Raises TypeError for other types, OSError for an unreadable file."""
    path = fasta_path(proteins)
    if path is not None:
        yield from _read_fasta(_open_text(path))
    elif isinstance(proteins, str):
        if proteins.lstrip().startswith(">"):
            yield from _read_fasta(proteins.splitlines())
        else:
            yield NamedSequence(None, _letters(proteins))
    elif isinstance(proteins, Mapping):
        for name, sequence in proteins.items():
            yield NamedSequence(str(name), _letters(str(sequence)))
    elif hasattr(proteins, "seq"):
        yield NamedSequence(str(getattr(proteins, "id", "")) or None, _letters(str(proteins.seq)))
    elif type(proteins).__module__.startswith("Bio."):
        yield NamedSequence(None, _letters(str(proteins)))
    elif isinstance(proteins, tuple) and len(proteins) == 2 and all(isinstance(part, str) for part in proteins):
        yield NamedSequence(proteins[0], _letters(proteins[1]))
    elif isinstance(proteins, Iterable):
        for each in proteins:
            yield from read_proteins(each)
    else:
        raise TypeError(f"{type(proteins).__name__} is not a protein: a sequence, a SeqRecord or a path is expected")


def is_one_protein(proteins: Proteins) -> bool:
    """Whether the type holds exactly one protein. Files and lists count as several, also with one record."""
    if isinstance(proteins, str):
        return fasta_path(proteins) is None and not proteins.lstrip().startswith(">")
    return hasattr(proteins, "seq") or type(proteins).__module__.startswith("Bio.")


def fasta_path(proteins: Proteins) -> Optional[Path]:
    """Returns the path of a path object, or of text that names a file, whether it exists or not; else None."""
    if isinstance(proteins, os.PathLike):
        return Path(proteins)
    if isinstance(proteins, str) and len(proteins) < 4096 and not proteins.isalpha() and ">" not in proteins:
        path = Path(proteins)
        # No sequence has a dot or a slash. A path with a typing error is not to be searched as a sequence.
        is_path = any(sign in proteins for sign in "./\\") or path.is_file()
        return path if is_path and "\n" not in proteins else None
    return None


def _letters(text: str) -> str:
    """Returns the letters without white space and trailing stop codon, as the service counts positions."""
    return "".join(text.split()).rstrip("*").upper()


def _open_text(path: Path) -> Iterator[str]:
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt") if is_gzip else open(path, "rt") as lines:
        yield from lines


def _read_fasta(lines: Iterable[str]) -> Iterator[NamedSequence]:
    name: Optional[str] = None
    parts: Optional[List[str]] = None
    for line in lines:
        if line.startswith(">"):
            if parts is not None:
                yield NamedSequence(name, _letters("".join(parts)))
            name, parts = _id_of(line[1:].strip()), []
        elif parts is not None:
            parts.append("".join(line.split()))
        elif line.strip():
            raise ValueError("FASTA is expected: its first line begins with '>'")
    if parts is not None:
        yield NamedSequence(name, _letters("".join(parts)))


def _id_of(header: str) -> Optional[str]:
    """Returns the id that the service reads in a header: the accession of a UniProt header, else the first word."""
    uniprot = UNIPROT_HEADER.match(header)
    # The headers of identical proteins in NCBI's nr are separated by U+0001.
    words = header.replace("\x01", " ").split()
    return uniprot[1] if uniprot else next(iter(words), None)
