"""An optional progress bar: needs tqdm, and does nothing without it."""

from __future__ import annotations

from typing import Any, Optional

from .events import RunEvent


class Bar:
    """Shows the progress of a run."""

    def __init__(self, is_shown: bool, title: str) -> None:
        self._bar: Optional[Any] = None
        if is_shown:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(desc=title, unit="")

    def show(self, event: RunEvent) -> None:
        if self._bar is None or event.progress is None:
            return
        self._bar.total = event.progress["total_count"]
        self._bar.update(event.progress["done_count"] - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
