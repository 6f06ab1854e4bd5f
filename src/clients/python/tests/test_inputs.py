"""Protein types of Python programs."""

import gzip

import pytest

from gloaming.inputs import is_one_protein, read_protein, read_proteins


@pytest.mark.parametrize("text", ["MKV LAA\n", "mkvlaa*", ">q some words\nMKV\nLAA\n"])
def test_a_sequence_is_normalised_as_by_the_service(text):
    assert read_protein(text).sequence == "MKVLAA"


def test_lists_mappings_pairs_and_fasta_hold_several_proteins():
    assert [*read_proteins(["MK", "VL"])] == [(None, "MK"), (None, "VL")]
    assert [*read_proteins({"a": "MK", "b": "VL"})] == [("a", "MK"), ("b", "VL")]
    assert [*read_proteins([("a", "MK")])] == [("a", "MK")]
    assert [*read_proteins(">a x\nM\nK\n>b\nVL\n")] == [("a", "MK"), ("b", "VL")]


@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress])
def test_a_plain_or_gzip_file_is_read_by_path_or_name(tmp_path, pack):
    path = tmp_path / "some.fa"
    path.write_bytes(pack(b">a\nMK\n>b\nVL\n"))
    assert [*read_proteins(path)] == [*read_proteins(str(path))] == [("a", "MK"), ("b", "VL")]


def test_biopython_s_records_are_read():
    seq = pytest.importorskip("Bio.Seq")
    record = pytest.importorskip("Bio.SeqRecord").SeqRecord(seq.Seq("MKVL"), id="a")
    assert read_protein(record) == ("a", "MKVL")
    assert read_protein(seq.Seq("MK")).sequence == "MK"
    assert [*read_proteins([record, record])] == [("a", "MKVL"), ("a", "MKVL")]
    assert is_one_protein(record) and not is_one_protein([record])


def test_other_types_are_refused(tmp_path):
    with pytest.raises(ValueError, match="submit"):
        read_protein(["MK", "VL"])
    with pytest.raises(TypeError):
        read_protein(7)
    with pytest.raises(OSError):
        read_protein(tmp_path / "absent.fa")
