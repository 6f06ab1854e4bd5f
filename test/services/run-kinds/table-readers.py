"""Reads a table with programs of the field and prints what they understood as JSON.

table-readers.py blast-tab FILE NAME...   Biopython, without comments, in these columns
table-readers.py commented FILE           Biopython, with comments
table-readers.py blast-xml FILE           Biopython
table-readers.py pandas FILE NAME...      pandas, in these columns; without names its first line has them
"""

import json
import sys

kind, path, *names = sys.argv[1:]
if kind == "pandas":
    import pandas

    # Nothing is taken for a missing number but an empty cell.
    options = {"sep": "\t", "keep_default_na": False, "na_values": [""]}
    table = pandas.read_csv(path, names=names, **options) if names else pandas.read_csv(path, **options)
    print(
        json.dumps(
            {
                "columns": list(table.columns),
                "types": [str(kind) for kind in table.dtypes],
                "missing": int(table.isna().sum().sum()),
                "rows": json.loads(table.to_json(orient="records")),
            }
        )
    )
else:
    from Bio import SearchIO

    if kind == "blast-xml":
        results = SearchIO.parse(path, "blast-xml")
    elif kind == "commented":
        results = SearchIO.parse(path, "blast-tab", comments=True)
    else:
        results = SearchIO.parse(path, "blast-tab", fields=names)
    print(
        json.dumps(
            [
                {
                    "query": result.id,
                    "hits": [
                        {
                            "target": hit.id,
                            "evalue": hit[0].evalue,
                            "bitscore": hit[0].bitscore,
                            # Biopython counts from 0, half-open.
                            "place": [hit[0].query_start, hit[0].query_end, hit[0].hit_start, hit[0].hit_end],
                            "sequences": (
                                [str(hit[0].query.seq), str(hit[0].hit.seq)] if hit[0].query is not None else None
                            ),
                        }
                        for hit in result
                    ],
                }
                for result in results
            ]
        )
    )
