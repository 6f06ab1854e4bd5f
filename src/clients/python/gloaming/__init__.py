"""Client of a Gloaming appliance, which finds remote homologs of a protein.

>>> from gloaming import Gloaming
>>> hits = Gloaming().search(protein, limit=5)
>>> hits.to_pandas().shape[0]
5
"""

from .aio import AsyncGloaming, AsyncRun
from .calls import derived_key
from .client import Gloaming, Run
from .errors import (
    AuthenticationError,
    CapacityError,
    ConflictError,
    ConnectionFailed,
    DamagedDownload,
    ForbiddenError,
    GloamingError,
    IdempotencyError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    RunCancelled,
    RunFailed,
    ServiceError,
    WebhookVerificationError,
)
from .events import RunEvent
from .hits import Alignment, Hit, Hits
from .results import Reference, SqlResult
from .webhooks import verify_webhook

__all__ = [
    "Alignment",
    "AsyncGloaming",
    "AsyncRun",
    "AuthenticationError",
    "CapacityError",
    "ConflictError",
    "ConnectionFailed",
    "DamagedDownload",
    "ForbiddenError",
    "Gloaming",
    "GloamingError",
    "Hit",
    "Hits",
    "IdempotencyError",
    "InvalidRequestError",
    "NotFoundError",
    "RateLimitError",
    "Reference",
    "Run",
    "RunCancelled",
    "RunEvent",
    "RunFailed",
    "ServiceError",
    "SqlResult",
    "WebhookVerificationError",
    "derived_key",
    "verify_webhook",
]
