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


@pytest.mark.parametrize(
    "header,name",
    [
        ("tr|A0A509ATW6|A0A509ATW6_PLABA Thioredoxin OS=Plasmodium berghei", "A0A509ATW6"),
        ("sp|P0AA25-2|THIO_ECOLI", "P0AA25-2"),
        ("sp|P0AA25| no entry name", "sp|P0AA25|"),
        ("WP_1.1 kinase [Mus]\x01WP_2.1 kinase", "WP_1.1"),
        ("WP_1.1\x01WP_2.1", "WP_1.1"),
        ("  a  b ", "a"),
        ("", None),
    ],
)
def test_the_name_is_the_id_that_the_command_line_reads(header, name):
    assert read_protein(f">{header}\nMK\n").name == name


@pytest.mark.parametrize("path", ["examples/nofile.fasta", "nofile.fa", "folder/nofile", "..\\nofile"])
def test_a_path_of_no_file_is_refused_and_is_no_sequence(path):
    assert not is_one_protein(path)
    with pytest.raises(FileNotFoundError):
        read_protein(path)


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
