/** Predictions that may be at work at once; the others wait in the order in which they asked. */
export interface PredictorSlots {
  take(): PredictorSlot;
}

export interface PredictorSlot {
  /** Resolves when it is this one's turn. */
  readonly ready: Promise<void>;
  /** Gives the turn to the next, or up where it has not come. Repeating it does nothing. */
  release(): void;
}

export function createPredictorSlots(count: number): PredictorSlots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const next = (): void => {
    while (taken < count && waiting.length > 0) {
      taken += 1;
      waiting.shift()?.();
    }
  };
  return {
    take() {
      let state: 'waiting' | 'ready' | 'released' = 'waiting';
      let begin = (): void => undefined;
      const ready = new Promise<void>((resolve) => {
        begin = () => {
          state = 'ready';
          resolve();
        };
      });
      waiting.push(begin);
      next();
      return {
        ready,
        release() {
          if (state === 'ready') taken -= 1;
          else if (state === 'waiting') waiting.splice(waiting.indexOf(begin), 1);
          state = 'released';
          next();
        },
      };
    },
  };
}
