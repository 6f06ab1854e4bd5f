"""The client for event loops. The build writes `client.py`, the blocking client, from this file without its awaits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, AsyncIterator, List, Mapping, Optional, Sequence, Union

from . import flows
from .bar import Bar
from .events import FINAL_STATES, RunEvent
from .flows import Progress, Submission
from .hits import Hits
from .inputs import Protein, Proteins
from .results import Reference, SqlResult
from .state import ClientState, RunState
from .transport import AwaitingTransport
from .wire import Json


class AsyncGloaming(ClientState):
    """A Gloaming appliance.

    `url` and `key` default to GLOAMING_URL (http://127.0.0.1:8080) and GLOAMING_API_KEY. `ca_bundle` defaults to
    GLOAMING_CA_BUNDLE: PEM certificates to trust instead of the system's. `timeout` bounds one response, in seconds.
    `patience` bounds the sum of the pauses before retries of one request, in seconds. Every request that changes
    something carries an Idempotency-Key. The client retries a request if the appliance says that a retry may succeed,
    after the time that the appliance names.

    Examples:
        >>> from gloaming import AsyncGloaming
        >>> async with AsyncGloaming() as appliance:
        ...     hits = await appliance.search(protein, limit=3)
        >>> [hit.rank for hit in hits]
        [1, 2, 3]
    """

    def _connect(self, timeout: float) -> None:
        self._transport = AwaitingTransport(self._address, timeout)

    async def __aenter__(self) -> "AsyncGloaming":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections and revokes the SQL credential that the client made.

        Examples:
            >>> appliance = AsyncGloaming()
            >>> await appliance.close()
        """
        await self._transport.run(self._sql.revoke(self._caller))
        await self._transport.close()

    async def search(
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
        """Compares one protein with every eligible protein of a database and returns the closest.

        `query` is a sequence, FASTA of one record, the path of such a file, or Biopython's SeqRecord. `limit` is 1 to
        5,000 (default 100); submit() stores up to 10,000. A search without `alignments` is faster. `members` are
        further members of the request, such as cut-offs, by their names in the contract.

        Examples:
            >>> hits = await client.search(protein, database="demo", limit=10)
            >>> hits[0].attributes["organism"] != ""
            True
            >>> kingdom = {"op": "eq", "field": "organism", "value": hits[0].attributes["organism"]}
            >>> hits = await client.search(protein, filter=kingdom)
            >>> {hit.attributes["organism"] for hit in hits} == {kingdom["value"]}
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
        return await self._transport.run(flows.search(self._caller, query, options, idempotency_key))

    async def submit(
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
    ) -> "AsyncRun":
        """Submits a search as a run: stored, resumed after a crash, paged, watched and reported to webhooks.

        `queries` is one protein, a list or mapping of proteins, or the path of a FASTA file, plain or gzip. A large
        file is uploaded first. `limit` is 1 to 10,000 candidates per query. With an `idempotency_key` of your own
        (see derived_key), a step repeated within a day returns the run that the first attempt made. `members` are
        further members of the input, such as cut-offs, by their names in the contract.

        Examples:
            >>> run = await client.submit({"one": protein, "two": protein}, limit=5)
            >>> [(hits.query_id, len(hits)) async for hits in run.results()]
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
        run_options = {"label": label, "priority": priority, "webhook_endpoint_id": webhook_endpoint_id}
        flow = flows.submit(self._caller, queries, options, run_options, idempotency_key)
        return AsyncRun(self, await self._transport.run(flow))

    async def create_run(
        self, endpoint: str, input: Mapping[str, Any], *, idempotency_key: Optional[str] = None
    ) -> "AsyncRun":
        """Creates a run of any endpoint, such as `sequences.msa.build` or `structure.predict`, with this input.

        Examples:
            >>> hits = await client.search(protein, limit=5)
            >>> run = await client.create_run("sequences.msa.build", {"receipt_id": hits.receipt_id})
            >>> (await run.wait()).summary["msa"]["row_count"] > 1
            True
        """
        flow = flows.create(self._caller, endpoint, input, {}, idempotency_key)
        return AsyncRun(self, await self._transport.run(flow))

    async def run(self, run_id: str) -> "AsyncRun":
        """Reads a run that was created before.

        Examples:
            >>> submitted = await client.submit(protein)
            >>> (await client.run(submitted.id)).endpoint
            'homology.search'
        """
        return AsyncRun(self, Submission(await self._transport.run(flows.read_run(self._caller, run_id)), None))

    async def runs(
        self, *, status: Optional[str] = None, endpoint: Optional[str] = None
    ) -> "AsyncIterator[AsyncRun]":
        """Yields the runs of the organization, newest first.

        Examples:
            >>> run = await client.submit(protein)
            >>> run.id in [each.id async for each in client.runs()]
            True
        """
        query = {"status": status, "endpoint": endpoint, "limit": 100}
        async for row in self._transport.iterate(flows.pages(self._caller, "/v1/runs", query)):
            yield AsyncRun(self, Submission(row, None))

    async def databases(self) -> List[Json]:
        """Returns the searchable databases: `slug`, `title`, `default_release_id` and more of each.

        Examples:
            >>> [database["slug"] for database in await client.databases()]
            ['demo']
        """
        return [row async for row in self._transport.iterate(flows.databases(self._caller))]

    async def resolve(self, query: str, *, limit: int = 20) -> List[Reference]:
        """Finds proteins, databases, releases, runs and files by id, accession or name; tolerates misspelling.

        Examples:
            >>> (await client.resolve("demo"))[0].kind
            'database'
        """
        return await self._transport.run(flows.resolve(self._caller, query, limit))

    async def sql(self, statement: str, parameters: Sequence[Any] = (), *, limit: int = 1000) -> SqlResult:
        """Runs a DuckDB SELECT over the organization's data; `$1`, `$2` stand for the parameters.

        The argument `sql_credential`, or GLOAMING_SQL_USER and GLOAMING_SQL_PASSWORD, opens the session. Without
        either, the client makes a credential, and close() revokes it.

        Examples:
            >>> statement = "SELECT count(*) AS n FROM demo.targets WHERE target_id <> $1"
            >>> (await client.sql(statement, ["absent"])).rows
            [[60]]
        """
        return await self._transport.run(flows.sql(self._caller, self._sql, statement, parameters, limit))

    async def call(
        self,
        operation: str,
        *,
        params: Optional[Mapping[str, str]] = None,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Calls any operation of the contract by its id, with the names of the contract (`/docs/api` lists both).

        Returns the JSON body, or bytes of another media type. `params` fills the path. A POST carries an
        Idempotency-Key, so that it can be retried.

        Examples:
            >>> answer = await client.call("homology.databases.releases.list", params={"database": "demo"})
            >>> answer["data"][0]["object"]
            'homology_database_release'
        """
        asked = (params or {}, query or {}, body, headers or {}, idempotency_key)
        return await self._transport.run(flows.call(self._caller, operation, *asked))

    async def upload(
        self,
        path: "Union[str, os.PathLike[str]]",
        *,
        name: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> str:
        """Stores a file and returns its URL, which runs take as `fasta_url` or `a3m_url`.

        The client calls `progress` with the number of bytes uploaded and the total. An upload of an unchanged file
        that was interrupted resumes within a day.

        Examples:
            >>> seen = []
            >>> url = await client.upload(fasta_file, progress=lambda done, all: seen.append((done, all)))
            >>> seen[-1][0] == seen[-1][1] == fasta_file.stat().st_size
            True
            >>> await client.upload(fasta_file) == url
            True
        """
        return await self._transport.run(flows.upload(self._caller, Path(path), name, progress))


class AsyncRun(RunState):
    """A run that the appliance stores.

    Examples:
        >>> run = await client.submit([protein, protein])
        >>> (await run.wait()).status
        'completed'
    """

    def __init__(self, client: AsyncGloaming, submission: Submission) -> None:
        super().__init__(submission)
        self._transport = client._transport
        self._caller = client._caller

    async def refresh(self) -> "AsyncRun":
        """Reads the run's state again.

        Examples:
            >>> run = await client.submit([protein])
            >>> (await run.refresh()).status in ("queued", "running", "completed")
            True
        """
        self.raw = await self._transport.run(flows.read_run(self._caller, self.id))
        return self

    async def watch(self, *, progress: bool = False) -> AsyncIterator[RunEvent]:
        """Yields the run's events until it ends. After a lost connection it continues behind the last event.

        With `progress` it shows a bar if tqdm is installed.

        Examples:
            >>> run = await client.submit([protein])
            >>> [event.type async for event in run.watch() if event.type != "run.progress"]
            ['run.queued', 'run.running', 'run.completed']
        """
        bar = Bar(progress, self.id)
        try:
            async for event in self._transport.iterate(flows.watch(self._caller, self.id)):
                bar.show(event)
                yield event
        finally:
            bar.close()
        await self.refresh()

    async def wait(self, *, progress: bool = False) -> "AsyncRun":
        """Waits until the run has completed. Raises RunFailed, RunCancelled.

        Examples:
            >>> run = await client.submit(protein, limit=7)
            >>> (await run.wait()).raw["result"]["row_count"]
            7
        """
        if progress and self.status not in FINAL_STATES:
            async for _ in self.watch(progress=True):
                pass
        self.raw = await self._transport.run(flows.wait_for(self._caller, self.id))
        return self

    async def results(self) -> AsyncIterator[Any]:
        """Yields the rows in order, also before the run has ended: each Hit of one query, or Hits of each of several.

        Rows of other endpoints, such as `sequences.relatives`, have the form of the contract.

        Examples:
            >>> run = await client.submit(protein, limit=3)
            >>> [hit.rank async for hit in run.results()]
            [1, 2, 3]
        """
        async for row in self._transport.iterate(flows.results(self._caller, self.id, self._queries)):
            yield row

    async def export(
        self,
        format: str,
        to: "Optional[Union[str, os.PathLike[str]]]" = None,
        *,
        query_index: Optional[int] = None,
        **members: Any,
    ) -> Path:
        """Writes the rows as a file: `m8` (BLAST outfmt 6), `tsv`, `fasta`, `a3m`, `parquet`, `arrow` and others.

        The rows are in order of E-value, as on the command line, unless `members` has another `sort`.

        The file is written to `to`, complete or not at all. By default its name is that of the run and the format, in
        the working directory; an existing file stays, and the new one gets a number. `a3m` of a batch needs
        `query_index`, from 0. `members` are further members of the input of `homology.export`, such as `outfmt` or
        `maximum_expected_false_hits`.

        Examples:
            >>> run = await (await client.submit([protein], limit=5)).wait()
            >>> path = await run.export("m8", folder / "hits.m8")
            >>> len(path.read_text().splitlines())
            5
        """
        return await self._transport.run(flows.export(self._caller, self.id, format, to, query_index, members))

    async def cancel(self) -> "AsyncRun":
        """Cancels the run unless it has ended.

        Examples:
            >>> run = await client.submit([protein] * 50)
            >>> (await run.cancel()).status
            'cancelled'
        """
        self.raw = await self._transport.run(flows.cancel(self._caller, self.id))
        return self
