"""Reads an export with Biopython and prints what it understood as JSON: export-readers.py fasta|a3m|tsv FILE"""

import json
import sys

from Bio import SearchIO, SeqIO
from Bio.Align import MultipleSeqAlignment
from Bio.Seq import Seq

kind, path = sys.argv[1:]
if kind == "fasta":
    # A dictionary refuses an id that comes twice.
    records = SeqIO.to_dict(SeqIO.parse(path, "fasta"))
    print(json.dumps({name: str(record.seq) for name, record in records.items()}))
elif kind == "a3m":
    rows = list(SeqIO.parse(path, "fasta"))
    residues = [str(row.seq).replace("-", "").upper() for row in rows]
    for row in rows:
        # Insertions are lower case and stand between two columns.
        row.seq = Seq("".join(letter for letter in row.seq if not letter.islower()))
    # It refuses rows of different lengths.
    alignment = MultipleSeqAlignment(rows)
    print(
        json.dumps(
            {
                "columns": alignment.get_alignment_length(),
                "first_row": str(alignment[0].seq),
                "rows": [
                    {"id": row.id, "residues": letters, "filled": len(row.seq) - row.seq.count("-")}
                    for row, letters in zip(alignment, residues)
                ],
            }
        )
    )
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
