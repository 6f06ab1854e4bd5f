"""Results of resolve() and sql()."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .wire import Json


@dataclass(frozen=True)
class Reference:
    """A resource matched by id, accession or name."""

    #: `target`, `database`, `release`, `run` or `file`.
    kind: str
    #: Id for other requests.
    id: str
    name: str
    #: `exact`, `prefix`, `token` or `similar`.
    match: str
    #: Similarity of query and name; 1 if equal. Range: 0..1.
    similarity: float
    description: Optional[str] = None
    database_slug: Optional[str] = None
    database_release_id: Optional[str] = None

    @classmethod
    def of(cls, told: Json) -> "Reference":
        """Converts the JSON of the service.

        Examples:
            >>> Reference.of({"object": "reference", "kind": "run", "id": "run_1", "name": "n", "match": "exact",
            ...               "similarity": 1}).kind
            'run'
        """
        return cls(**{name: member for name, member in told.items() if name != "object"})


@dataclass(frozen=True)
class SqlResult:
    """Rows of a SQL statement. Integers beyond ±(2⁵³ − 1), decimals and times are text."""

    columns: List[str]
    #: One list of values per row, in the order of `columns`.
    rows: List[List[Any]]
    #: Whether there are more rows than the limit.
    is_limit_reached: bool

    @classmethod
    def of(cls, told: Json) -> "SqlResult":
        """Converts the JSON of the service.

        Examples:
            >>> SqlResult.of({"columns": [{"name": "n"}], "rows": [[1]], "is_row_limit_reached": False}).records()
            [{'n': 1}]
        """
        return cls([column["name"] for column in told["columns"]], told["rows"], told["is_row_limit_reached"])

    def records(self) -> List[Dict[str, Any]]:
        """Returns one dictionary per row.

        Examples:
            >>> client.sql("SELECT 1 AS one, 'two' AS two").records()
            [{'one': 1, 'two': 'two'}]
        """
        return [dict(zip(self.columns, row)) for row in self.rows]

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame`. Needs the extra `pandas`.

        Examples:
            >>> int(client.sql("SELECT 1 AS one").to_pandas()["one"].sum())
            1
        """
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)
