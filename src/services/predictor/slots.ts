/** Limits concurrent predictions. The others wait in FIFO order. */
export class PredictorSlots {
  readonly #count: number;
  readonly #waiting: PredictorSlot[] = [];
  #takenCount = 0;

  /** @param count concurrent predictions, 1.. */
  constructor(count: number) {
    this.#count = count;
  }

  take(): PredictorSlot {
    const slot = new PredictorSlot((released) => this.#release(released));
    this.#waiting.push(slot);
    this.#grant();
    return slot;
  }

  #release(slot: PredictorSlot): void {
    const at = this.#waiting.indexOf(slot);
    if (at === -1) this.#takenCount -= 1;
    else this.#waiting.splice(at, 1);
    this.#grant();
  }

  #grant(): void {
    while (this.#takenCount < this.#count) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#takenCount += 1;
      next.begin();
    }
  }
}

/** The slot of one prediction, waiting or running. */
class PredictorSlot {
  /** Resolves when the prediction may start. */
  readonly ready: Promise<void>;
  readonly #onRelease: (slot: PredictorSlot) => void;
  #resolve: () => void = () => undefined;
  #isReleased = false;

  constructor(onRelease: (slot: PredictorSlot) => void) {
    this.#onRelease = onRelease;
    this.ready = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Called by PredictorSlots when the prediction may start. */
  begin(): void {
    this.#resolve();
  }

  /** Passes the slot to the next prediction, or leaves the queue. A repeated call is a no-op. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#onRelease(this);
  }
}
