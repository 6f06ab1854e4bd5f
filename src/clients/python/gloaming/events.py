"""Server-sent events of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .wire import Json

#: Terminal states of a run.
FINAL_STATES = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True)
class RunEvent:
    """A change of state or progress of a run."""

    #: `run.queued`, `run.running`, `run.progress`, `run.completed`, `run.failed` or `run.cancelled`.
    type: str
    timestamp: str
    status: str
    #: `stage`, `fraction` (0..1), `done_count`, `total_count`; `rate_per_second` and `seconds_left` if known.
    progress: Optional[Dict[str, Any]]

    @property
    def is_final(self) -> bool:
        """Whether this is the last event of the run.

        Examples:
            >>> [event.is_final for event in client.submit([protein]).watch()][-1]
            True
        """
        return self.status in FINAL_STATES


class EventReader:
    """Parses events from chunks of a stream. Source: HTML Living Standard, section 9.2."""

    def __init__(self) -> None:
        self._rest = b""
        #: Id of the last event that has one; a new connection continues behind it.
        self.last_id: Optional[str] = None

    def feed(self, chunk: bytes) -> List[RunEvent]:
        *messages, self._rest = (self._rest + chunk).split(b"\n\n")
        events = [self._event_of(message.decode()) for message in messages]
        return [event for event in events if event is not None]

    def _event_of(self, message: str) -> Optional[RunEvent]:
        fields = dict(line.split(": ", 1) for line in message.split("\n") if ": " in line and line[0] != ":")
        self.last_id = fields.get("id", self.last_id)
        if "data" not in fields:
            return None
        event: Json = json.loads(fields["data"])
        data = event["data"]
        return RunEvent(event["type"], event["timestamp"], data["status"], data.get("progress"))
