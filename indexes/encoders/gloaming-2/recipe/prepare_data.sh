#!/bin/sh
# Makes training.npz, families.npz and gloaming-1.pt: prepare_data.sh DATA WORK.
# Needs xz, g++, mmseqs2, python3-numpy, python3-torch, python3-onnx.
set -eu
data=$1
mkdir -p "$2/search"
work=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shared=$here/../../gloaming-1/recipe
xz -dkc "$data/natural/clean.fasta.xz" > "$work/clean.fasta"
xz -dkc "$data/natural/meta.tsv.xz" > "$work/meta.tsv"
"$here/run.sh" ../../gloaming-1/recipe/select_natural.py "$work"
"$here/run.sh" select_proteins.py "$data" "$work"
g++ -O3 -march=native -o "$work/align_pairs" "$shared/align_pairs.cpp"
"$here/run.sh" align_labelled.py "$data" "$work"

(
    cd "$work"
    mmseqs createdb background.fasta background -v 1
    mmseqs createdb asked.fasta asked -v 1
    mmseqs search asked background hits search -s 4.5 -e 1e-3 --max-seqs 150 -c 0.5 --cov-mode 2 -a --threads 2 -v 2
    mmseqs convertalis asked background hits relatives.tsv --threads 1 -v 1 \
        --format-output query,target,evalue,fident,qstart,qend,qlen,tstart,tend,tlen,cigar
)
"$here/run.sh" gather.py "$data" "$work"
"$here/run.sh" unpack_encoder.py "$here/../../gloaming-1/model.onnx" "$work/gloaming-1.pt"
