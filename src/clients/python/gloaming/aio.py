"""The client for event loops: that of `gloaming.client`, awaited."""

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
    """A Gloaming appliance, for event loops; arguments and methods are those of `Gloaming`.

    Examples:
        >>> from gloaming import AsyncGloaming
        >>> async def find():
        ...     async with AsyncGloaming() as appliance:
        ...         return await appliance.search(protein, limit=3)
        >>> len(asyncio.run(find()))
        3
    """

    def _connect(self, timeout: float) -> None:
        self._transport = AwaitingTransport(self._address, timeout)

    async def __aenter__(self) -> "AsyncGloaming":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """As `Gloaming.close`.

        Examples:
            >>> async def example(appliance):
            ...     return appliance
            >>> type(asyncio.run(with_appliance(example))).__name__
            'AsyncGloaming'
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
        """As `Gloaming.search`.

        Examples:
            >>> async def example(appliance):
            ...     return await appliance.search(protein, limit=3)
            >>> [hit.rank for hit in asyncio.run(with_appliance(example))]
            [1, 2, 3]
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
        """As `Gloaming.submit`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit([protein], limit=5)
            ...     return [len(hits) async for hits in run.results()]
            >>> asyncio.run(with_appliance(example))
            [5]
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
        return AsyncRun(self, await self._transport.run(flow))

    async def create_run(
        self, endpoint: str, input: Mapping[str, Any], *, idempotency_key: Optional[str] = None
    ) -> "AsyncRun":
        """As `Gloaming.create_run`.

        Examples:
            >>> async def example(appliance):
            ...     found = await appliance.search(protein, limit=5)
            ...     run = await appliance.create_run("sequences.msa.build", {"receipt_id": found.receipt_id})
            ...     return (await run.wait()).status
            >>> asyncio.run(with_appliance(example))
            'completed'
        """
        flow = flows.create(self._caller, endpoint, input, {}, idempotency_key)
        return AsyncRun(self, await self._transport.run(flow))

    async def run(self, run_id: str) -> "AsyncRun":
        """As `Gloaming.run`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit(protein)
            ...     return (await appliance.run(run.id)).id == run.id
            >>> asyncio.run(with_appliance(example))
            True
        """
        return AsyncRun(self, Submission(await self._transport.run(flows.read_run(self._caller, run_id)), None))

    async def runs(self, *, status: Optional[str] = None, endpoint: Optional[str] = None) -> AsyncIterator["AsyncRun"]:
        """As `Gloaming.runs`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit(protein)
            ...     return run.id in [each.id async for each in appliance.runs()]
            >>> asyncio.run(with_appliance(example))
            True
        """
        query = {"status": status, "endpoint": endpoint, "limit": 100}
        async for row in self._transport.iterate(flows.pages(self._caller, "/v1/runs", query)):
            yield AsyncRun(self, Submission(row, None))

    async def databases(self) -> List[Json]:
        """As `Gloaming.databases`.

        Examples:
            >>> async def example(appliance):
            ...     return [database["slug"] for database in await appliance.databases()]
            >>> asyncio.run(with_appliance(example))
            ['demo']
        """
        return [row async for row in self._transport.iterate(flows.databases(self._caller))]

    async def resolve(self, query: str, *, limit: int = 20) -> List[Reference]:
        """As `Gloaming.resolve`.

        Examples:
            >>> async def example(appliance):
            ...     return (await appliance.resolve("demo"))[0].kind
            >>> asyncio.run(with_appliance(example))
            'database'
        """
        return await self._transport.run(flows.resolve(self._caller, query, limit))

    async def sql(self, statement: str, parameters: Sequence[Any] = (), *, limit: int = 1000) -> SqlResult:
        """As `Gloaming.sql`.

        Examples:
            >>> async def example(appliance):
            ...     return (await appliance.sql("SELECT 1 AS one")).rows
            >>> asyncio.run(with_appliance(example))
            [[1]]
        """
        return await self._transport.run(flows.sql(self._caller, self._sql, statement, parameters, limit))

    async def upload(
        self,
        path: "Union[str, os.PathLike[str]]",
        *,
        name: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> str:
        """As `Gloaming.upload`.

        Examples:
            >>> async def example(appliance):
            ...     return await appliance.upload(fasta_file, name="awaited.fasta")
            >>> asyncio.run(with_appliance(example))[:4]
            'http'
        """
        return await self._transport.run(flows.upload(self._caller, Path(path), name, progress))


class AsyncRun(RunState):
    """Work that the appliance keeps; its methods are those of `Run`.

    Examples:
        >>> async def example(appliance):
        ...     run = await appliance.submit([protein, protein])
        ...     return (await run.wait()).status
        >>> asyncio.run(with_appliance(example))
        'completed'
    """

    def __init__(self, client: AsyncGloaming, submission: Submission) -> None:
        super().__init__(submission)
        self._transport = client._transport
        self._caller = client._caller

    async def refresh(self) -> "AsyncRun":
        """As `Run.refresh`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit([protein])
            ...     return (await run.refresh()).endpoint
            >>> asyncio.run(with_appliance(example))
            'homology.batch_search'
        """
        self.raw = await self._transport.run(flows.read_run(self._caller, self.id))
        return self

    async def watch(self, *, progress: bool = False) -> AsyncIterator[RunEvent]:
        """As `Run.watch`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit([protein])
            ...     return [event.type async for event in run.watch()][-1]
            >>> asyncio.run(with_appliance(example))
            'run.completed'
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
        """As `Run.wait`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit([protein])
            ...     return (await run.wait()).status
            >>> asyncio.run(with_appliance(example))
            'completed'
        """
        if progress and self.status not in FINAL_STATES:
            async for _ in self.watch(progress=True):
                pass
        self.raw = await self._transport.run(flows.wait_for(self._caller, self.id))
        return self

    async def results(self) -> AsyncIterator[Any]:
        """As `Run.results`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit(protein, limit=3)
            ...     return [hit.rank async for hit in run.results()]
            >>> asyncio.run(with_appliance(example))
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
        """As `Run.export`.

        Examples:
            >>> async def example(appliance):
            ...     run = await (await appliance.submit([protein], limit=5)).wait()
            ...     return await run.export("m8", folder / "awaited.m8")
            >>> asyncio.run(with_appliance(example)).name
            'awaited.m8'
        """
        return await self._transport.run(flows.export(self._caller, self.id, format, to, query_index, members))

    async def cancel(self) -> "AsyncRun":
        """As `Run.cancel`.

        Examples:
            >>> async def example(appliance):
            ...     run = await appliance.submit([protein] * 50)
            ...     return (await run.cancel()).status
            >>> asyncio.run(with_appliance(example))
            'cancelled'
        """
        self.raw = await self._transport.run(flows.cancel(self._caller, self.id))
        return self
