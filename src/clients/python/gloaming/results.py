"""Answers that are neither hits nor runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .wire import Json


@dataclass(frozen=True)
class Reference:
    """Something that was found by id, accession or name."""

    #: `target`, `database`, `release`, `run` or `file`.
    kind: str
    #: By which other requests take it.
    id: str
    name: str
    #: `exact`, `prefix`, `token` or `similar`.
    match: str
    #: 1 where query and name are the same. Range: 0..1.
    similarity: float
    description: Optional[str] = None
    database_slug: Optional[str] = None
    database_release_id: Optional[str] = None

    @classmethod
    def of(cls, told: Json) -> "Reference":
        """From the wire.

        Examples:
            >>> Reference.of({"object": "reference", "kind": "run", "id": "run_1", "name": "n", "match": "exact",
            ...               "similarity": 1}).kind
            'run'
        """
        return cls(**{name: value for name, value in told.items() if name != "object"})


@dataclass(frozen=True)
class SqlResult:
    """Rows of a SQL statement. Integers beyond ±(2⁵³ − 1), decimals and times are text."""

    columns: List[str]
    #: Values by column.
    rows: List[List[Any]]
    #: Whether there are more rows than were asked for.
    is_limit_reached: bool

    @classmethod
    def of(cls, told: Json) -> "SqlResult":
        """From the wire.

        Examples:
            >>> SqlResult.of({"columns": [{"name": "n"}], "rows": [[1]], "is_row_limit_reached": False}).records()
            [{'n': 1}]
        """
        return cls([column["name"] for column in told["columns"]], told["rows"], told["is_row_limit_reached"])

    def records(self) -> List[Dict[str, Any]]:
        """One dictionary for each row.

        Examples:
            >>> client.sql("SELECT 1 AS one, 'two' AS two").records()
            [{'one': 1, 'two': 'two'}]
        """
        return [dict(zip(self.columns, row)) for row in self.rows]

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Needs the extra `pandas`.

        Examples:
            >>> int(client.sql("SELECT 1 AS one").to_pandas()["one"].sum())
            1
        """
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)
