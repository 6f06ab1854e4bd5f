"""Hits as the objects of Bio.SearchIO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .hits import Alignment, Hit, Hits


def query_result(hits: "Hits") -> Any:
    """A QueryResult: a Hit for each candidate that has an alignment, an HSP of one fragment in each."""
    from Bio.SearchIO import QueryResult

    aligned = [_hit(hit, hit.alignment, hits.query_id) for hit in hits if hit.alignment is not None]
    result = QueryResult(aligned, id=hits.query_id)
    result.seq_len = len(hits.query)
    result.program = "gloaming"
    return result


def _hit(hit: "Hit", alignment: "Alignment", query_id: str) -> Any:
    from Bio.SearchIO import HSP, HSPFragment
    from Bio.SearchIO import Hit as SearchHit

    fragment = HSPFragment(hit.id, query_id, hit=alignment.target_row, query=alignment.query_row)
    fragment.molecule_type = "protein"
    fragment.query_start, fragment.query_end = alignment.query_start, alignment.query_end
    fragment.hit_start, fragment.hit_end = alignment.target_start, alignment.target_end
    pair = HSP([fragment])
    pair.evalue, pair.bitscore, pair.bitscore_raw = hit.e_value, hit.bit_score, hit.score
    pair.ident_pct = 100 * alignment.identity
    found = SearchHit([pair], id=hit.id, query_id=query_id)
    found.seq_len = len(hit.sequence)
    found.description = str(hit.attributes.get("name", ""))
    return found
