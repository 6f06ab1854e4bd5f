"""Messages of the appliance to webhook receivers. Source: Standard Webhooks 1.0, symmetric signatures."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Iterable, Mapping, Union

from .errors import WebhookVerificationError
from .wire import Json

#: Highest difference between the clocks of sender and receiver. Unit: seconds.
TOLERANCE_SECONDS = 300


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secrets: Union[str, Iterable[str]],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> Json:
    """Verifies signature and age of a message and returns its event.

    `secrets` is the secret of the endpoint (`whsec_…`), or several during a rotation. A message may arrive more than
    once; its `webhook-id` is the same each time.

    Raises WebhookVerificationError.

    Examples:
        >>> from gloaming import verify_webhook
        >>> verify_webhook(message.body, message.headers, message.secret)["type"]
        'run.completed'
        >>> verify_webhook(b"{}", message.headers, message.secret)
        Traceback (most recent call last):
        gloaming.errors.WebhookVerificationError: The message has no valid signature of these secrets.
    """
    lower_headers = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = lower_headers["webhook-id"], lower_headers["webhook-timestamp"]
        sent_at, signatures = int(timestamp), lower_headers["webhook-signature"].split()
    except (KeyError, ValueError) as cause:
        raise WebhookVerificationError("The message lacks the headers of a webhook.") from cause
    if abs(time.time() - sent_at) > tolerance_seconds:
        raise WebhookVerificationError("The message is too old, or a clock is wrong.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        key = base64.b64decode(secret.split("_", 1)[-1])
        expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, each.encode()) for each in signatures):
            event: Json = json.loads(body)
            return event
    raise WebhookVerificationError("The message has no valid signature of these secrets.")
