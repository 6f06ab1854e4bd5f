#!/usr/bin/env python3
"""Receives the appliance's webhooks and fetches the results of every search that has completed.

Register its address first, and keep the secret that the answer shows once:

    curl -s $GLOAMING_URL/v1/webhooks/endpoints -H "Authorization: Bearer $GLOAMING_API_KEY" \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "http://pipeline.lab:9000/", "event_types": ["run.completed", "run.failed"]}'

environment:
  GLOAMING_URL, GLOAMING_API_KEY   the appliance
  GLOAMING_WEBHOOK_SECRET          whsec_… of the endpoint; several between commas while it is being rotated

exit codes:
  0  it was told to end, by SIGTERM or Control-C
  2  the command line is wrong, or the secret is missing

A message is answered as soon as it is written down, as <run>.told, because the appliance waits for an answer only for
seconds; then the table is fetched as <run>.tsv. What was written down when it was killed is fetched when it starts
again. A message that is not the appliance's is answered with 400, one that could not be written down with 503: it comes again.
"""

import argparse
import os
import queue
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from gloaming import Gloaming, GloamingError, WebhookVerificationError, verify_webhook

#: Larger messages are none of the appliance's.
MESSAGE_MAX_BYTES = 1024 * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:9000", help="address and port (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("."), help="where tables are written (%(default)s)")
    asked = parser.parse_args()
    secrets = [secret for secret in os.environ.get("GLOAMING_WEBHOOK_SECRET", "").split(",") if secret]
    if not secrets:
        parser.error("GLOAMING_WEBHOOK_SECRET is not set")
    host, port = asked.listen.rsplit(":", 1)
    told = queue.Queue()
    for mark in sorted(asked.folder.glob("run_*.told")):
        told.put(mark)
    with Gloaming() as client, HTTPServer((host, int(port)), receiver(secrets, asked.folder, told)) as server:
        threading.Thread(target=fetch_all, args=(client, told), daemon=True).start()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"listening on {asked.listen}", file=sys.stderr, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


def receiver(secrets, folder, told):
    """Writes down what is to be fetched, and answers."""

    class Receiver(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            if length > MESSAGE_MAX_BYTES:
                return self.answer(413)
            try:
                event = verify_webhook(self.rfile.read(length), dict(self.headers), secrets)
                mark = mark_of(event, folder)
                if mark is not None:
                    mark.touch()
                    told.put(mark)
            except WebhookVerificationError as error:
                print(error, file=sys.stderr)
                return self.answer(400)
            except OSError as error:
                print(error, file=sys.stderr)
                return self.answer(503)
            self.answer(204)

        def answer(self, status):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Receiver


def mark_of(event, folder):
    """The note that a search has completed whose table is not there; None for everything else."""
    data = event["data"]
    print(event["type"], data.get("run_id", ""), flush=True)
    is_search = data.get("endpoint") in ("homology.search", "homology.batch_search")
    if event["type"] != "run.completed" or not is_search or (folder / f"{data['run_id']}.tsv").exists():
        return None
    return folder / f"{data['run_id']}.told"


def fetch_all(client, told):
    """Fetches one table after the other; what cannot be fetched stays written down for the next start."""
    while True:
        mark = told.get()
        try:
            if mark.exists():
                client.run(mark.stem).export("m8", mark.with_suffix(".tsv"))
                mark.unlink()
        except (GloamingError, OSError) as error:
            print(error, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
