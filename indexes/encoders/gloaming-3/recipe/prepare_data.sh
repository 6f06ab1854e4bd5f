#!/bin/sh
# Makes the packed folder that a run needs: prepare_data.sh DATA WORK PACKED.
# Needs xz, g++, mmseqs2, python3-numpy, python3-torch, python3-onnx.
set -eu
data=$1 packed=$3
mkdir -p "$2/a" "$2/b" "$2/c" "$2/d" "$packed"
work=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
one=../../gloaming-1/recipe two=../../gloaming-2/recipe
xz -dkc "$data/natural/clean.fasta.xz" > "$work/clean.fasta"
xz -dkc "$data/natural/meta.tsv.xz" > "$work/meta.tsv"
"$here/run.sh" "$one/select_natural.py" "$work"
"$here/run.sh" select_queries.py "$data" "$work"
g++ -O3 -march=native -o "$work/align_pairs" "$here/$one/align_pairs.cpp"
columns=query,target,fident,alnlen,qstart,qend,tstart,tend,evalue,cigar

search() { # queries, targets, folder, table, columns, options
    queries=$1 targets=$2 folder=$3 table=$4 listed=$5
    shift 5
    mmseqs search "$queries" "$targets" "$folder/hits" "$folder/tmp" "$@" -a --threads 2 -v 1
    mmseqs convertalis "$queries" "$targets" "$folder/hits" "$table" --threads 1 -v 1 --format-output "$listed"
}

(
    cd "$work"
    for name in reps labelled queries queries2; do mmseqs createdb $name.fasta $name -v 1; done
    search labelled reps a relatives.tsv $columns -s 4.5 -e 1e-3 --max-seqs 60 -c 0.5 --cov-mode 2
    search queries reps b natural-alignments.tsv $columns -s 5 -e 1e-5 --max-seqs 150
    search queries2 reps c natural2-alignments.tsv $columns -s 4.5 -e 1e-5 --max-seqs 25
)
"$here/run.sh" "$two/align_labelled.py" "$data" "$work"
"$here/run.sh" pack.py "$data" "$work" "$packed"
"$here/run.sh" "$two/unpack_encoder.py" "$here/../../gloaming-1/model.onnx" "$packed/gloaming-1.pt"

# Relatives of all domains, for dev figures alone
xz -dkc "$data/natural/relatives-of-domains.ids.xz" > "$work/ids.txt"
(cat "$work/clean.fasta"; xz -dkc "$data/natural/screened-out.fasta.xz") |
    awk 'NR==FNR {wanted[$1] = 1; next} /^>/ {kept = substr($1, 2) in wanted} kept' "$work/ids.txt" - \
    > "$work/background.fasta"
(
    cd "$work"
    mmseqs createdb background.fasta background -v 1
    mmseqs createdb "$data/scope40/domains.fasta" domains -v 1
    search domains background d table.tsv query,target,evalue,fident,qstart,qend,qlen,tstart,tend,tlen,cigar \
        -s 5.7 -e 1e-3 --max-seqs 300 -c 0.5 --cov-mode 2
)
"$here/run.sh" "$two/dev_families.py" "$data" "$work/table.tsv" "$work/background.fasta" "$work/dev.npz"
"$here/run.sh" pack_domains.py "$data" "$packed" "$work/dev.npz"
