"""Order of hits in files, without a socket."""

import json

import pytest

from gloaming.calls import Caller
from gloaming.flows import export
from gloaming.hits import Hits


def candidate(rank, e_value):
    measured = {} if e_value is None else {"expected_false_hits": e_value}
    return {
        "rank": rank,
        "target": {"id": f"t{rank}", "sequence": "MKV", "attributes": {}},
        "measurements": {"maxsim": {"bidirectional": 0.1 * rank}, "affine": {"raw_score": 9}},
        "significance": {"measurements": measured},
        "alignment": {
            "query_start": 0,
            "query_end": 3,
            "target_start": 0,
            "target_end": 3,
            "cigar": "3=",
            "sequence_identity_ratio": 1,
            "query_coverage_ratio": 1,
            "target_coverage_ratio": 1,
        },
    }


@pytest.mark.parametrize(
    "e_values,ids",
    [
        ([2e-5, 1e-5, 1e-5, None, 3], ["query", "t2", "t3", "t1", "t5", "t4"]),
        ([None, None], ["query", "t1", "t2"]),
    ],
)
def test_a3m_has_the_order_of_the_command_line(e_values, ids):
    answer = {"candidates": [candidate(at + 1, e_value) for at, e_value in enumerate(e_values)]}
    hits = Hits(answer, "MKV")
    assert [line[1:] for line in hits.a3m().splitlines()[::2]] == ids
    assert [hit.rank for hit in hits] == [at + 1 for at in range(len(e_values))]


@pytest.mark.parametrize("members,sort", [({}, "evalue"), ({"sort": "rank"}, "rank")])
def test_an_export_has_the_order_of_the_command_line_unless_it_names_another(members, sort):
    effect = next(export(Caller(60), "run_1", "m8", None, None, members))
    assert json.loads(effect.request.body)["input"] == {"run_id": "run_1", "format": "m8", "sort": sort}
