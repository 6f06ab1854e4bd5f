"""State that both clients share."""

from __future__ import annotations

from typing import Optional, Sequence

from .calls import Caller
from .flows import SqlSession, Submission
from .transport import Address
from .wire import Json


class ClientState:
    """Address, key and credential of a client; subclasses add the transport."""

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        ca_bundle: Optional[str] = None,
        timeout: float = 120.0,
        patience: float = 300.0,
        sql_credential: Optional["tuple[str, str]"] = None,
    ) -> None:
        self._address = Address(url, key, ca_bundle)
        self._caller = Caller(patience)
        self._sql = SqlSession(sql_credential)
        self._connect(timeout)

    def _connect(self, timeout: float) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._address.url}>"


class RunState:
    """A run in the last state that the client has read."""

    def __init__(self, submission: Submission) -> None:
        #: The run as JSON.
        self.raw: Json = submission.run
        self._queries: Optional[Sequence[str]] = submission.queries
        #: Whether an earlier request with the same Idempotency-Key created it.
        self.is_replayed = submission.is_replayed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.endpoint}: {self.status}>"

    @property
    def id(self) -> str:
        """Id of the run, for `client.run(id)`.

        Examples:
            >>> client.submit(protein).id[:4]
            'run_'
        """
        return str(self.raw["id"])

    @property
    def endpoint(self) -> str:
        """Endpoint of the run, such as `homology.search`.

        Examples:
            >>> client.submit([protein]).endpoint
            'homology.batch_search'
        """
        return str(self.raw["endpoint"])

    @property
    def status(self) -> str:
        """`queued`, `running`, `completed`, `failed` or `cancelled`; refresh() reads it again.

        Examples:
            >>> client.submit([protein]).wait().status
            'completed'
        """
        return str(self.raw["status"])

    @property
    def summary(self) -> Json:
        """Summary of the result; empty until the run has completed.

        Examples:
            >>> client.submit([protein]).wait().summary["query_count"]
            1
        """
        result = self.raw.get("result")
        return dict(result["summary"]) if result is not None else {}
