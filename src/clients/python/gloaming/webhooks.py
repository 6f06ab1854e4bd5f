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

#: How far the clock of the sender may be from ours. Unit: seconds.
TOLERANCE_SECONDS = 300


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secrets: Union[str, Iterable[str]],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> Json:
    """The event in a message, once it is known who sent it and that it is fresh.

    `secrets` is that of the endpoint (`whsec_…`), or several while it is being rotated. One message may come more
    than once: `webhook-id` names it.

    Raises WebhookVerificationError.

    Examples:
        >>> from gloaming import verify_webhook
        >>> verify_webhook(message.body, message.headers, message.secret)["type"]
        'run.completed'
        >>> verify_webhook(b"{}", message.headers, message.secret)
        Traceback (most recent call last):
        gloaming.errors.WebhookVerificationError: No signature of the message is one of these secrets'.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = given["webhook-id"], given["webhook-timestamp"]
        sent_at, signatures = int(timestamp), given["webhook-signature"].split()
    except (KeyError, ValueError) as cause:
        raise WebhookVerificationError("The message has not the headers of a webhook.") from cause
    if abs(time.time() - sent_at) > tolerance_seconds:
        raise WebhookVerificationError("The message is too old, or a clock is wrong.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        key = base64.b64decode(secret.split("_", 1)[-1])
        expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, each.encode()) for each in signatures):
            event: Json = json.loads(body)
            return event
    raise WebhookVerificationError("No signature of the message is one of these secrets'.")
