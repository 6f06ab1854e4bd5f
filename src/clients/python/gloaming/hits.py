"""Hits of a search, and their conversion to other libraries."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from .wire import Json


@dataclass(frozen=True)
class Alignment:
    """The best local alignment of query and target. Positions are zero-based and half-open."""

    query_start: int
    query_end: int
    target_start: int
    target_end: int
    #: Extended CIGAR seen from the query: `=` match, `X` mismatch, `I` query and `D` target residue against a gap.
    cigar: str
    #: Identical residues ÷ columns, gaps included. Range: 0..1.
    identity: float
    #: Aligned residues ÷ length. Range: 0..1.
    query_coverage: float
    target_coverage: float
    #: The aligned residues with `-` for gaps; both rows have one letter per column.
    query_row: str
    target_row: str

    def __str__(self) -> str:
        pairs = zip(self.query_row, self.target_row)
        middle = "".join("|" if a == b else " " if "-" in (a, b) else "." for a, b in pairs)
        return f"{self.query_row}\n{middle}\n{self.target_row}"


@dataclass(frozen=True)
class Hit:
    """One candidate: a measurement, not an asserted homolog."""

    rank: int
    id: str
    sequence: str
    #: Attributes of the target, such as `name`, `organism`, `taxid`.
    attributes: Dict[str, Any]
    #: Mean cosine distance to the closest residue, over both directions; determines the rank. Range: about 0..2.
    distance: float
    #: Smith–Waterman score of residue similarities with affine gaps.
    score: float
    #: E-value: expected number of unrelated targets that score at least as well; None without a calibration.
    e_value: Optional[float]
    #: Upper bound on the false discovery rate among hits with at least this evidence. Range: 0..1.
    q_value: Optional[float]
    #: Unit: bits.
    bit_score: Optional[float]
    #: None if not requested, or if no residues are aligned.
    alignment: Optional[Alignment]
    #: The candidate as JSON, with every measurement.
    raw: Json


class Hits(Sequence[Hit]):
    """The candidates of one query, closest first.

    Examples:
        >>> hits = client.search(protein, limit=5)
        >>> len(hits), hits[0].rank
        (5, 1)
        >>> hits[0].distance < 0.01
        True
    """

    def __init__(self, answer: Mapping[str, Any], query: str, query_id: str = "query") -> None:
        self.raw: Json = dict(answer)
        #: The query of the request.
        self.query = query
        self.query_id = query_id
        self._hits = [_hit_of(candidate, query) for candidate in answer["candidates"]]

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, index: Any) -> Any:
        return self._hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    @property
    def receipt_id(self) -> str:
        """Id of the receipt, which records inputs and results; `gloaming verify` recomputes it.

        Examples:
            >>> client.search(protein, limit=1).receipt_id[:5]
            'rcpt_'
        """
        return str(self.raw["receipt"]["id"])

    @property
    def is_limit_reached(self) -> bool:
        """Whether there are more candidates than the limit.

        Examples:
            >>> client.search(protein, limit=1).is_limit_reached
            True
        """
        return bool(self.raw["is_result_limit_reached"])

    def records(self) -> List[Dict[str, Any]]:
        """Returns a flat dictionary per hit; attributes of the target are `attribute.<name>`.

        Examples:
            >>> list(client.search(protein, limit=1).records()[0])[:5]
            ['query_id', 'rank', 'target_id', 'distance', 'score']
        """
        names = sorted({name for hit in self._hits for name in hit.attributes})
        return [_record_of(hit, self.query_id, names) for hit in self._hits]

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame` of `records()`, a row per hit. Needs the extra `pandas`.

        Examples:
            >>> table = client.search(protein, limit=5).to_pandas()
            >>> table.shape[0], int(table["rank"].iloc[0])
            (5, 1)
        """
        import pandas

        return pandas.DataFrame.from_records(self.records())

    def to_arrow(self) -> Any:
        """Returns a `pyarrow.Table` of `records()`. Needs the extra `arrow`.

        Examples:
            >>> client.search(protein, limit=5).to_arrow().num_rows
            5
        """
        import pyarrow

        return pyarrow.Table.from_pylist(self.records())

    def to_polars(self) -> Any:
        """Returns a `polars.DataFrame` of `records()`. Needs the extra `polars`.

        Examples:
            >>> client.search(protein, limit=5).to_polars().height
            5
        """
        import polars

        return polars.DataFrame(self.records())

    def to_searchio(self) -> Any:
        """Returns a `Bio.SearchIO` QueryResult: a Hit of one HSP for each hit with an alignment. Needs the extra `bio`.

        Examples:
            >>> result = client.search(protein, limit=5).to_searchio()
            >>> result[0][0].query_range == (0, len(protein))
            True
        """
        from Bio.SearchIO import QueryResult

        aligned = [_searchio_hit(hit, hit.alignment, self.query_id) for hit in self if hit.alignment is not None]
        result = QueryResult(aligned, id=self.query_id)
        result.seq_len = len(self.query)
        result.program = "gloaming"
        return result

    def alignments(self) -> List[Alignment]:
        """Returns the alignments of the hits that have one, by rank.

        Examples:
            >>> best = client.search(protein, limit=5).alignments()[0]
            >>> float(best.identity), best.query_start, best.query_end == len(protein)
            (1.0, 0, True)
            >>> best.query_row == best.target_row
            True
        """
        return [hit.alignment for hit in self._hits if hit.alignment is not None]

    def a3m(self) -> str:
        """Returns A3M: the query, then a row per alignment with an upper-case letter or `-` for every query residue.

        The rows are in order of E-value, or closest first without E-values, as on the command line.

        Examples:
            >>> lines = client.search(protein, limit=5).a3m().splitlines()
            >>> lines[0], lines[1] == protein
            ('>query', True)
        """
        rows = [f">{self.query_id}\n{self.query}\n"]
        for hit in sorted(self._hits, key=_evidence_of):
            if hit.alignment is not None:
                rows.append(f">{hit.id}\n{_a3m_row(hit.alignment, len(self.query))}\n")
        return "".join(rows)

    def __repr__(self) -> str:
        return f"<Hits: {len(self)} of {self.query_id}>"

    def _repr_html_(self) -> str:
        """Returns an HTML table for notebooks."""
        heads = ["rank", "target", "name", "distance", "score", "E-value", "coverage", "identity"]
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells_of(hit))}</tr>" for hit in self._hits)
        head = "".join(f"<th>{name}</th>" for name in heads)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>"


def _hit_of(candidate: Json, query: str) -> Hit:
    measured = candidate["measurements"]
    judged = candidate["significance"]["measurements"]
    target = candidate["target"]
    return Hit(
        rank=candidate["rank"],
        id=target["id"],
        sequence=target["sequence"],
        attributes=target["attributes"],
        distance=measured["maxsim"]["bidirectional"],
        score=measured["affine"]["raw_score"],
        e_value=judged.get("expected_false_hits"),
        q_value=judged.get("q_value"),
        bit_score=judged.get("bit_score"),
        alignment=_alignment_of(candidate.get("alignment"), query, target["sequence"]),
        raw=candidate,
    )


def _alignment_of(row: Optional[Json], query: str, target: str) -> Optional[Alignment]:
    if row is None or row["cigar"] == "":
        return None
    query_row, target_row = [], []
    query_at, target_at = row["query_start"], row["target_start"]
    for length, operation in runs_of(row["cigar"]):
        has_query, has_target = operation != "D", operation != "I"
        query_row.append(query[query_at : query_at + length] if has_query else "-" * length)
        target_row.append(target[target_at : target_at + length] if has_target else "-" * length)
        query_at += length if has_query else 0
        target_at += length if has_target else 0
    return Alignment(
        query_start=row["query_start"],
        query_end=row["query_end"],
        target_start=row["target_start"],
        target_end=row["target_end"],
        cigar=row["cigar"],
        identity=row["sequence_identity_ratio"],
        query_coverage=row["query_coverage_ratio"],
        target_coverage=row["target_coverage_ratio"],
        query_row="".join(query_row),
        target_row="".join(target_row),
    )


def _evidence_of(hit: Hit) -> "tuple[float, int]":
    """Returns the key of the order by E-value. Equal E-values, and absent ones at the end, are in order of rank."""
    return (math.inf if hit.e_value is None else hit.e_value, hit.rank)


def runs_of(cigar: str) -> List["tuple[int, str]"]:
    """Returns length and operation of each run of an extended CIGAR."""
    return [(int(length), operation) for length, operation in re.findall(r"(\d+)([=XID])", cigar)]


def _a3m_row(alignment: Alignment, length: int) -> str:
    columns = zip(alignment.query_row, alignment.target_row)
    inside = "".join(target.lower() if query == "-" else target for query, target in columns)
    return "-" * alignment.query_start + inside + "-" * (length - alignment.query_end)


def _searchio_hit(hit: Hit, alignment: Alignment, query_id: str) -> Any:
    """Returns a `Bio.SearchIO` Hit with one HSP of one fragment."""
    from Bio.SearchIO import HSP, HSPFragment
    from Bio.SearchIO import Hit as SearchHit

    fragment = HSPFragment(hit.id, query_id, hit=alignment.target_row, query=alignment.query_row)
    fragment.molecule_type = "protein"
    fragment.query_start, fragment.query_end = alignment.query_start, alignment.query_end
    fragment.hit_start, fragment.hit_end = alignment.target_start, alignment.target_end
    pair = HSP([fragment])
    pair.evalue, pair.bitscore, pair.bitscore_raw = hit.e_value, hit.bit_score, hit.score
    pair.ident_pct = 100 * alignment.identity
    searchio_hit = SearchHit([pair], id=hit.id, query_id=query_id)
    searchio_hit.seq_len = len(hit.sequence)
    searchio_hit.description = str(hit.attributes.get("name", ""))
    return searchio_hit


def _record_of(hit: Hit, query_id: str, names: Sequence[str]) -> Dict[str, Any]:
    alignment = hit.alignment
    place = ("query_start", "query_end", "target_start", "target_end", "identity", "query_coverage", "cigar")
    return {
        "query_id": query_id,
        "rank": hit.rank,
        "target_id": hit.id,
        "distance": hit.distance,
        "score": hit.score,
        "e_value": hit.e_value,
        "q_value": hit.q_value,
        "bit_score": hit.bit_score,
        **{name: getattr(alignment, name, None) for name in place},
        **{f"attribute.{name}": hit.attributes.get(name) for name in names},
    }


def _cells_of(hit: Hit) -> List[str]:
    alignment = hit.alignment
    return [
        str(hit.rank),
        html.escape(hit.id),
        html.escape(str(hit.attributes.get("name", ""))),
        f"{hit.distance:.4f}",
        f"{hit.score:g}",
        "" if hit.e_value is None else f"{hit.e_value:.2g}",
        "" if alignment is None else f"{alignment.query_coverage:.0%}",
        "" if alignment is None else f"{alignment.identity:.0%}",
    ]
