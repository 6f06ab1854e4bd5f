"""Tests against a served appliance that go beyond the docstring examples."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gloaming import AsyncGloaming, Gloaming, GloamingError, RunCancelled, WebhookVerificationError, verify_webhook
from gloaming.flows import pages


def test_search_submit_and_the_async_client_give_the_same_hits(client, protein, fasta_file):
    direct = [(hit.id, hit.score) for hit in client.search(protein, limit=20)]
    assert [(hit.id, hit.score) for hit in client.submit(protein, limit=20).results()] == direct
    batch = list(client.submit(fasta_file, limit=20).results())
    assert [hits.query_id for hits in batch] == ["one", "two"]
    assert [(hit.id, hit.score) for hit in batch[1]] == direct

    async def awaited():
        async with AsyncGloaming() as appliance:
            return await asyncio.gather(*(appliance.search(protein, limit=20) for _ in range(3)))

    assert [[(hit.id, hit.score) for hit in hits] for hits in asyncio.run(awaited())] == [direct] * 3


def test_alignments_agree_with_the_sequences(client, protein):
    for hit in client.search(protein, limit=30):
        alignment = hit.alignment
        assert alignment.query_row.replace("-", "") == protein[alignment.query_start : alignment.query_end]
        assert alignment.target_row.replace("-", "") == hit.sequence[alignment.target_start : alignment.target_end]
        same = sum(a == b for a, b in zip(alignment.query_row, alignment.target_row))
        assert same / len(alignment.query_row) == pytest.approx(alignment.identity)


def test_a3m_rows_of_service_and_client_are_equal(client, protein, tmp_path):
    run = client.submit(protein, limit=30).wait()
    exported = run.export("a3m", tmp_path / "served.a3m").read_text().splitlines()[1::2]
    assert len(exported) > 1
    # The service drops rows that are unlikely homologs, cover little of the query or are nearly equal to another row.
    assert set(exported) <= set(client.search(protein, limit=30).a3m().splitlines()[1::2])


def test_keyword_arguments_are_members_of_the_request(client, protein, tmp_path):
    run = client.submit(protein, limit=30, minimum_query_coverage_ratio=0.9).wait()
    hits = list(run.results())
    assert 0 < len(hits) < 30 and min(hit.alignment.query_coverage for hit in hits) >= 0.9
    path = run.export("blast", tmp_path / "two.tsv", outfmt="6 sseqid pident")
    assert [line.split("\t")[0] for line in path.read_text().splitlines()] == [hit.id for hit in hits]


def test_a_run_of_another_session_has_its_queries(client, protein):
    run = client.submit([protein], limit=3).wait()
    found = list(client.run(run.id).results())
    assert found[0].query == protein and found[0][0].alignment is not None


def test_a_repeated_step_gets_the_run_of_its_first_attempt(client, protein):
    key = f"step {time.time()}"
    assert client.submit(protein, idempotency_key=key).id == client.submit(protein, idempotency_key=key).id
    assert client.submit(protein).id != client.submit(protein).id


def test_waiting_for_a_cancelled_run_raises_run_cancelled(client, protein):
    run = client.submit([protein] * 400).cancel()
    with pytest.raises(RunCancelled):
        run.wait()


def test_an_interrupted_multipart_upload_resumes(client, tmp_path, monkeypatch):
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(range(256)) * 4 * 1024 * 90)
    done = []

    def stop(got, size):
        done.append(got)
        if 0 < got < size:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.upload(path, progress=stop)
    again = []
    url = client.upload(path, progress=lambda got, size: again.append(got))
    assert again[0] == done[-1] > 0 and again[-1] == path.stat().st_size
    assert url.endswith("/large.bin")


def test_concurrent_statements_share_a_credential_that_close_revokes(client):
    def active():
        rows = client._transport.iterate(pages(client._caller, "/v1/sql-credentials", {"limit": 100}))
        return {row["id"] for row in rows if row["is_active"]}

    statements = [f"SELECT {number} AS n" for number in range(4)]
    before = active()
    with Gloaming() as own, ThreadPoolExecutor(4) as threads:
        assert [found.rows for found in threads.map(own.sql, statements)] == [[[n]] for n in range(4)]
        assert len(active() - before) == 1

    async def awaited():
        async with AsyncGloaming() as appliance:
            found = await asyncio.gather(*map(appliance.sql, statements))
            return [each.rows for each in found], len(active() - before)

    assert asyncio.run(awaited()) == ([[[n]] for n in range(4)], 1)
    assert active() == before


def test_an_unknown_key_raises_invalid_api_key(protein):
    with pytest.raises(GloamingError) as caught:
        Gloaming(key="glm_none").search(protein)
    assert (caught.value.code, caught.value.status) == ("invalid_api_key", 401)
    assert type(caught.value).__name__ == "InvalidApiKey"


def test_a_message_with_a_wrong_signature_or_an_old_timestamp_is_refused(sign):
    message = sign(b'{"type": "run.completed"}')
    assert verify_webhook(message.body, message.headers, ["whsec_AAAA", message.secret])["type"] == "run.completed"
    for body, headers, secret in [
        (b"{}", message.headers, message.secret),
        (message.body, message.headers, "whsec_AAAA"),
        (message.body, {}, message.secret),
        (message.body, sign(message.body, at=time.time() - 3600).headers, message.secret),
    ]:
        with pytest.raises(WebhookVerificationError):
            verify_webhook(body, headers, secret)


def test_searchio_objects_have_the_hits_and_sequences(client, protein, tmp_path):
    pytest.importorskip("Bio.SearchIO")
    result = client.search(protein, limit=10).to_searchio()
    assert [hit.id for hit in result] == [hit.id for hit in client.search(protein, limit=10) if hit.alignment]
    assert result[0][0].ident_pct == 100
    assert str(result[0][0].query.seq) == protein


def test_the_html_table_escapes_its_cells(client, protein):
    table = client.search(protein, limit=3)._repr_html_()
    assert table.count("<tr>") == 4 and "<script" not in table


def test_a_pipeline_step_exits_with_the_documented_code(fasta_file, tmp_path, monkeypatch, capsys):
    from gloaming.steps import main

    out = str(tmp_path / "hits.tsv")
    assert main(["search", str(fasta_file), "--out", out, "--quiet", "--limit", "3"]) == 0
    first = capsys.readouterr().err.strip()
    assert main(["search", str(fasta_file), "--out", out, "--quiet", "--limit", "3"]) == 0
    assert capsys.readouterr().err.strip() == first, "a rerun finds its run"
    assert main(["search", str(fasta_file), "--out", out, "--quiet", "--database", "nowhere"]) == 3
    assert main(["search", str(tmp_path / "absent.fa"), "--out", out]) == 2
    with pytest.raises(SystemExit) as ended:
        main(["search"])
    assert ended.value.code == 2
    monkeypatch.setenv("GLOAMING_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("gloaming.calls.MOST_ATTEMPTS", 2)
    assert main(["search", str(fasta_file), "--out", out, "--quiet"]) == 5


def test_a_step_whose_run_was_cancelled_creates_a_new_run(client, fasta_file, tmp_path, capsys):
    from gloaming.steps import main, parser, submit_step

    fasta_file.write_text(fasta_file.read_text() * 60)
    out = str(tmp_path / "hits.tsv")
    arguments = ["search", str(fasta_file), "--out", out, "--quiet", "--limit", "4"]
    cancelled = submit_step(client, parser().parse_args(arguments)).cancel()
    assert main(arguments) == 0
    assert capsys.readouterr().err.strip() != cancelled.id
