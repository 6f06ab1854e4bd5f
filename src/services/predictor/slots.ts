/** Predictions that may be at work at once; the others wait in the order in which they asked. */
export class PredictorSlots {
  readonly #count: number;
  readonly #waiting: PredictorSlot[] = [];
  #takenCount = 0;

  /** @param count predictions at once, 1.. */
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

/** The place of one prediction, in the line or at work. */
class PredictorSlot {
  /** Resolves when it is this one's turn. */
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

  /** Its turn has come: PredictorSlots says so. */
  begin(): void {
    this.#resolve();
  }

  /** Gives the turn to the next, or up where it has not come. Repeating it does nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#onRelease(this);
  }
}
