"""Pipeline steps as commands: `python3 -m gloaming --help`."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import List, Optional

from . import Gloaming, Run
from .calls import derived_key
from .errors import (
    CapacityError,
    ConnectionFailed,
    GloamingError,
    RateLimitError,
    RunCancelled,
    RunFailed,
    ServiceError,
)
from .events import FINAL_STATES

EXIT_CODES = """\
exit codes:
  0  the file is complete
  1  anything else
  2  the command line is wrong, or a file cannot be read
  3  the appliance refuses the request; a retry of the same request is refused, too
  4  the run failed or was cancelled; a rerun makes a new one
  5  the appliance cannot be reached or has no capacity; a rerun may succeed

A rerun within a day waits for the run of an equal step. GLOAMING_URL names the appliance,
GLOAMING_API_KEY is the key, GLOAMING_CA_BUNDLE a file of certificates to trust.
"""

#: Failed runs of one step within a day, after which the step fails.
MOST_ATTEMPTS = 8


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command and returns its exit code.

    Examples:
        >>> main(["search", str(fasta_file), "--out", "hits.tsv", "--limit", "5", "--quiet"])
        0
        >>> len(open("hits.tsv").readlines())
        10
        >>> main(["msa", str(fasta_file), "--query-index", "1", "--out", "two.a3m", "--quiet"])
        0
        >>> open("two.a3m").readlines()[1].strip() == protein
        True
    """
    options = parser().parse_args(arguments)
    try:
        with Gloaming() as client:
            return run_step(client, options)
    except (RunFailed, RunCancelled) as error:
        return report(error, 4)
    except (ConnectionFailed, RateLimitError, CapacityError, ServiceError) as error:
        return report(error, 5)
    except GloamingError as error:
        return report(error, 3)
    except (OSError, ValueError) as error:
        return report(error, 2)


def run_step(client: Gloaming, options: argparse.Namespace) -> int:
    run = submit_step(client, options)
    print(run.id, file=sys.stderr)
    run.wait(progress=not options.quiet)
    a3m_of = options.query_index if options.format == "a3m" else None
    run.export(options.format, options.out, query_index=a3m_of)
    return 0


def submit_step(client: Gloaming, options: argparse.Namespace) -> Run:
    """Returns the run of an equal step unless it has failed or was cancelled, else a new run."""
    content = hashlib.sha256(Path(options.queries).read_bytes()).hexdigest()
    for attempt in range(MOST_ATTEMPTS):
        key = derived_key("python -m gloaming", content, options.database, options.limit, attempt)
        run = client.submit(
            Path(options.queries),
            database=options.database,
            limit=options.limit,
            label=Path(options.queries).name[:256],
            idempotency_key=key,
        )
        has_failed = run.is_replayed and run.refresh().status in FINAL_STATES - {"completed"}
        if not has_failed:
            return run
    raise RunFailed(f"{MOST_ATTEMPTS} runs of this step have failed or were cancelled within a day.")


def parser() -> argparse.ArgumentParser:
    commands = argparse.ArgumentParser(
        prog="python3 -m gloaming", epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = commands.add_subparsers(dest="command", required=True, metavar="search|msa")
    for name, about in (
        ("search", "candidates of every protein of a FASTA file"),
        ("msa", "the alignment of one protein of a FASTA file as A3M"),
    ):
        step = steps.add_parser(
            name, help=about, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        step.add_argument("queries", help="FASTA file, plain or gzip")
        step.add_argument("--out", required=True, type=Path, help="file to write, whole or not at all")
        step.add_argument("--database", help="slug or id; default: that of the appliance")
        step.add_argument("--limit", type=int, default=100, help="candidates of each protein, 1..10,000 (%(default)s)")
        step.add_argument("--quiet", action="store_true", help="show no progress")
        if name == "search":
            formats = ["m8", "tsv", "fasta", "parquet", "arrow"]
            step.add_argument("--format", choices=formats, default="m8", help="default: %(default)s (BLAST outfmt 6)")
        else:
            step.add_argument("--query-index", type=int, default=0, help="protein of the file, from 0 (%(default)s)")
            step.set_defaults(format="a3m")
    return commands


def report(error: Exception, code: int) -> int:
    print(f"gloaming: {error}", file=sys.stderr)
    return code

