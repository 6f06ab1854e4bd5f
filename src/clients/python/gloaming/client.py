"""The client with blocking calls."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

from . import flows
from .bar import Bar
from .events import FINAL_STATES, RunEvent
from .flows import Progress, Submission
from .hits import Hits
from .inputs import Protein, Proteins
from .results import Reference, SqlResult
from .state import ClientState, RunState
from .transport import BlockingTransport
from .wire import Json


class Gloaming(ClientState):
    """A Gloaming appliance.

    `url` and `key` default to GLOAMING_URL (http://127.0.0.1:8080) and GLOAMING_API_KEY, `ca_bundle` to
    GLOAMING_CA_BUNDLE: PEM certificates to trust instead of the system's. `timeout` bounds one answer, `patience` the
    pauses before a request is sent again, both in seconds. Every request that changes something carries an
    Idempotency-Key, and is sent again where the appliance says that it may succeed, after the time that it names.

    Examples:
        >>> from gloaming import Gloaming
        >>> with Gloaming() as appliance:
        ...     hits = appliance.search(protein, limit=3)
        >>> [hit.rank for hit in hits]
        [1, 2, 3]
    """

    def _connect(self, timeout: float) -> None:
        self._transport = BlockingTransport(self._address, timeout)

    def __enter__(self) -> "Gloaming":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its connections, and the SQL credential that it made.

        Examples:
            >>> appliance = Gloaming()
            >>> appliance.close()
        """
        self._transport.run(self._sql.revoke(self._caller))
        self._transport.close()

    def search(
        self,
        query: Protein,
        *,
        database: Optional[str] = None,
        database_release_id: Optional[str] = None,
        target_space_id: Optional[str] = None,
        filter: Optional[Mapping[str, Any]] = None,
        limit: Optional[int] = None,
        alignments: bool = True,
        guarantee: Optional[str] = None,
        significance: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **members: Any,
    ) -> Hits:
        """Compares one protein with every eligible one of a database, and answers with the closest.

        `query` is a sequence, FASTA of one record, the path of such a file, or Biopython's SeqRecord. `limit` is 1 to
        5,000 (default 100); submit() keeps up to 10,000. Without `alignments` it is faster. Further members of the
        request, such as cut-offs, are given by the names that the contract has for them.

        Examples:
            >>> hits = client.search(protein, database="demo", limit=10)
            >>> hits[0].attributes["organism"] != ""
            True
            >>> kingdom = {"op": "eq", "field": "organism", "value": hits[0].attributes["organism"]}
            >>> {hit.attributes["organism"] for hit in client.search(protein, filter=kingdom)} == {kingdom["value"]}
            True
        """
        options = {
            "database": database,
            "database_release_id": database_release_id,
            "target_space_id": target_space_id,
            "filter": filter,
            "limit": limit,
            "alignments": alignments,
            "guarantee": guarantee,
            "significance": significance,
            **members,
        }
        return self._transport.run(flows.search(self._caller, query, options, idempotency_key))

    def submit(
        self,
        queries: Proteins,
        *,
        database: Optional[str] = None,
        database_release_id: Optional[str] = None,
        target_space_id: Optional[str] = None,
        filter: Optional[Mapping[str, Any]] = None,
        limit: Optional[int] = None,
        alignments: bool = True,
        guarantee: Optional[str] = None,
        significance: Optional[str] = None,
        label: Optional[str] = None,
        priority: Optional[str] = None,
        webhook_endpoint_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **members: Any,
    ) -> "Run":
        """A search as a run: kept, resumed after a crash, paged, watched, and told of by webhooks.

        `queries` is one protein, a list or mapping of them, or the path of a FASTA file, plain or gzip; a large file
        is uploaded first. `limit` is 1 to 10,000 candidates of each query. With an `idempotency_key` of your own
        (see derived_key) a step that is run again within a day is led to the run that it made before. Further members
        of the input, such as cut-offs, are given by the names that the contract has for them.

        Examples:
            >>> run = client.submit({"one": protein, "two": protein}, limit=5)
            >>> [(hits.query_id, len(hits)) for hits in run.results()]
            [('one', 5), ('two', 5)]
        """
        options = {
            "database": database,
            "database_release_id": database_release_id,
            "target_space_id": target_space_id,
            "filter": filter,
            "limit": limit,
            "alignments": alignments,
            "guarantee": guarantee,
            "significance": significance,
            **members,
        }
        told = {"label": label, "priority": priority, "webhook_endpoint_id": webhook_endpoint_id}
        flow = flows.submit(self._caller, queries, options, told, idempotency_key)
        return Run(self, self._transport.run(flow))

    def create_run(self, endpoint: str, input: Mapping[str, Any], *, idempotency_key: Optional[str] = None) -> "Run":
        """A run of any endpoint, such as `sequences.msa.build` or `structure.predict`, with its input as it is.

        Examples:
            >>> receipt_id = client.search(protein, limit=5).receipt_id
            >>> run = client.create_run("sequences.msa.build", {"receipt_id": receipt_id})
            >>> run.wait().summary["msa"]["row_count"] > 1
            True
        """
        return Run(self, self._transport.run(flows.create(self._caller, endpoint, input, {}, idempotency_key)))

    def run(self, run_id: str) -> "Run":
        """A run that was made before.

        Examples:
            >>> client.run(client.submit(protein).id).endpoint
            'homology.search'
        """
        return Run(self, Submission(self._transport.run(flows.read_run(self._caller, run_id)), None))

    def runs(self, *, status: Optional[str] = None, endpoint: Optional[str] = None) -> "Iterator[Run]":
        """Runs of the organization, newest first.

        Examples:
            >>> run = client.submit(protein)
            >>> run.id in [each.id for each in client.runs()]
            True
        """
        query = {"status": status, "endpoint": endpoint, "limit": 100}
        for row in self._transport.iterate(flows.pages(self._caller, "/v1/runs", query)):
            yield Run(self, Submission(row, None))

    def databases(self) -> List[Json]:
        """What may be searched: `slug`, `title`, `default_release_id` and more of each database.

        Examples:
            >>> [database["slug"] for database in client.databases()]
            ['demo']
        """
        return list(self._transport.iterate(flows.databases(self._caller)))

    def resolve(self, query: str, *, limit: int = 20) -> List[Reference]:
        """Proteins, databases, releases, runs and files by id, accession or name, also where it is misspelt.

        Examples:
            >>> client.resolve("demo")[0].kind
            'database'
        """
        return self._transport.run(flows.resolve(self._caller, query, limit))

    def sql(self, statement: str, parameters: Sequence[Any] = (), *, limit: int = 1000) -> SqlResult:
        """Rows of a SELECT of DuckDB over what the organization may see; `$1`, `$2` stand for the parameters.

        Opened by the credential of the argument `sql_credential` or of GLOAMING_SQL_USER and GLOAMING_SQL_PASSWORD;
        where there is none the client makes one, and revokes it in close().

        Examples:
            >>> client.sql("SELECT count(*) AS n FROM demo.targets WHERE target_id <> $1", ["nobody"]).rows
            [[60]]
        """
        return self._transport.run(flows.sql(self._caller, self._sql, statement, parameters, limit))

    def upload(
        self,
        path: "Union[str, os.PathLike[str]]",
        *,
        name: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> str:
        """Stores a file; its URL is what runs take as `fasta_url` or `a3m_url`.

        `progress` is called with the bytes that are there and those that there will be. An upload of the same
        unchanged file that was interrupted within a day is gone on with.

        Examples:
            >>> seen = []
            >>> url = client.upload(fasta_file, progress=lambda done, all: seen.append((done, all)))
            >>> seen[-1][0] == seen[-1][1] == fasta_file.stat().st_size
            True
            >>> client.upload(fasta_file) == url
            True
        """
        return self._transport.run(flows.upload(self._caller, Path(path), name, progress))


class Run(RunState):
    """Work that the appliance keeps.

    Examples:
        >>> run = client.submit([protein, protein])
        >>> run.wait().status
        'completed'
    """

    def __init__(self, client: Gloaming, submission: Submission) -> None:
        super().__init__(submission)
        self._transport = client._transport
        self._caller = client._caller

    def refresh(self) -> "Run":
        """Asks how it is.

        Examples:
            >>> client.submit([protein]).refresh().status in ("queued", "running", "completed")
            True
        """
        self.raw = self._transport.run(flows.read_run(self._caller, self.id))
        return self

    def watch(self, *, progress: bool = False) -> Iterator[RunEvent]:
        """What becomes of it, to its end; a connection that ends before is opened again behind the last event.

        With `progress` a bar shows it, where tqdm is installed.

        Examples:
            >>> [event.type for event in client.submit([protein]).watch() if event.type != "run.progress"]
            ['run.queued', 'run.running', 'run.completed']
        """
        bar = Bar(progress, self.id)
        try:
            for event in self._transport.iterate(flows.watch(self._caller, self.id)):
                bar.show(event)
                yield event
        finally:
            bar.close()
        self.refresh()

    def wait(self, *, progress: bool = False) -> "Run":
        """Waits for its end. Raises RunFailed, RunCancelled.

        Examples:
            >>> client.submit(protein, limit=7).wait().raw["result"]["row_count"]
            7
        """
        if progress and self.status not in FINAL_STATES:
            for _ in self.watch(progress=True):
                pass
        self.raw = self._transport.run(flows.wait_for(self._caller, self.id))
        return self

    def results(self) -> Iterator[Any]:
        """Its rows in their order, also while it works: Hit by Hit of one query, Hits by Hits of several.

        Rows of other endpoints, such as `sequences.relatives`, are given as the contract has them.

        Examples:
            >>> [hit.rank for hit in client.submit(protein, limit=3).results()]
            [1, 2, 3]
        """
        yield from self._transport.iterate(flows.results(self._caller, self.id, self._queries))

    def export(
        self,
        format: str,
        to: "Optional[Union[str, os.PathLike[str]]]" = None,
        *,
        query_index: Optional[int] = None,
        **members: Any,
    ) -> Path:
        """Writes its rows as a file: `m8` (BLAST outfmt 6), `tsv`, `fasta`, `a3m`, `parquet`, `arrow` and others.

        The file stands where `to` says, by default in the working directory, whole or not at all. `a3m` of a batch
        needs `query_index`, from 0. Further members of the input of `homology.export`, such as `outfmt` or
        `maximum_expected_false_hits`, are given by their names.

        Examples:
            >>> run = client.submit([protein], limit=5).wait()
            >>> path = run.export("m8", folder / "hits.m8")
            >>> len(path.read_text().splitlines())
            5
        """
        return self._transport.run(flows.export(self._caller, self.id, format, to, query_index, members))

    def cancel(self) -> "Run":
        """Ends it where it has not ended.

        Examples:
            >>> client.submit([protein] * 50).cancel().status
            'cancelled'
        """
        self.raw = self._transport.run(flows.cancel(self._caller, self.id))
        return self
