#!/usr/bin/env python3
"""Receives webhooks of the appliance and fetches the results of every completed search.

Register its address first and store the secret, which only this response shows:

    curl -s $GLOAMING_URL/v1/webhooks/endpoints -H "Authorization: Bearer $GLOAMING_API_KEY" \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "http://pipeline.lab:9000/", "event_types": ["run.completed", "run.failed"]}'

environment:
  GLOAMING_URL, GLOAMING_API_KEY   the appliance
  GLOAMING_WEBHOOK_SECRET          whsec_… of the endpoint; several between commas while it is being rotated

exit codes:
  0  it was stopped by SIGTERM or Control-C
  2  the command line is wrong, or the secret is missing

The receiver writes a marker file <run>.told and answers, because the appliance waits only seconds for an answer. Then it
fetches the table as <run>.tsv. After a restart it fetches the tables of the markers that are left. It answers a message
with a wrong signature with 400, and with 503 if it cannot write the marker; the appliance then sends the message again.
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

#: The appliance sends no larger messages.
MESSAGE_MAX_BYTES = 1024 * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:9000", help="address and port (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("."), help="where tables are written (%(default)s)")
    options = parser.parse_args()
    secrets = [secret for secret in os.environ.get("GLOAMING_WEBHOOK_SECRET", "").split(",") if secret]
    if not secrets:
        parser.error("GLOAMING_WEBHOOK_SECRET is not set")
    host, port = options.listen.rsplit(":", 1)
    marks = queue.Queue()
    for mark in sorted(options.folder.glob("run_*.told")):
        marks.put(mark)
    with Gloaming() as client, HTTPServer((host, int(port)), receiver(secrets, options.folder, marks)) as server:
        threading.Thread(target=fetch_all, args=(client, marks), daemon=True).start()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"listening on {options.listen}", file=sys.stderr, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


def receiver(secrets, folder, marks):
    """Returns a request handler that writes markers."""

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
                    marks.put(mark)
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
    """Returns the marker of a completed search whose table is missing; else None."""
    data = event["data"]
    print(event["type"], data.get("run_id", ""), flush=True)
    is_search = data.get("endpoint") in ("homology.search", "homology.batch_search")
    if event["type"] != "run.completed" or not is_search or (folder / f"{data['run_id']}.tsv").exists():
        return None
    return folder / f"{data['run_id']}.told"


def fetch_all(client, marks):
    """Fetches the tables one by one; the marker of a failed fetch stays for the next start."""
    while True:
        mark = marks.get()
        try:
            if mark.exists():
                client.run(mark.stem).export("m8", mark.with_suffix(".tsv"))
                mark.unlink()
        except (GloamingError, OSError) as error:
            print(error, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
