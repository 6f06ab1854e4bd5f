"""Reads an export with Biopython and prints what it understood as JSON: export-readers.py fasta|tsv FILE"""

import json
import sys

from Bio import SearchIO, SeqIO

kind, path = sys.argv[1:]
if kind == "fasta":
    # A dictionary refuses an id that comes twice.
    records = SeqIO.to_dict(SeqIO.parse(path, "fasta"))
    print(json.dumps({name: str(record.seq) for name, record in records.items()}))
else:
    print(
        json.dumps(
            [
                {
                    "query": hsp.query_id,
                    "target": hsp.hit_id,
                    "identity": hsp.ident_pct,
                    "columns": hsp.aln_span,
                    "mismatches": hsp.mismatch_num,
                    "gap_openings": hsp.gapopen_num,
                    # Biopython counts from 0, half-open.
                    "place": [hsp.query_start, hsp.query_end, hsp.hit_start, hsp.hit_end],
                    "e_value": hsp.evalue,
                }
                for result in SearchIO.parse(path, "blast-tab")
                for hit in result
                for hsp in hit
            ]
        )
    )
