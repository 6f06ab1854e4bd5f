/** Sums of a bounded number of places, in memory that does not grow with the number of places that there are. */
export interface Tally {
  /**
   * Adds once for each voice (1 to 255): the first gain of each counts. A place that has none yet is taken only where
   * it may be brought; true where it was.
   */
  add(place: number, gain: number, voice: number, mayBring: boolean): boolean;
  /** Places with the highest sums, not below the least one: the highest first, equal ones ascending. */
  best(count: number, least: number): readonly number[];
  /** Returns the tally to its pool; it must not be used afterwards. */
  release(): void;
}

/** Places that one tally is given at most: the bounds of names-search.ts keep far below. */
const SLOTS_LOG2 = 19;
const SLOT_COUNT = 1 << SLOTS_LOG2;
const SPARE_MAX_COUNT = 4;

/** A hash table with open addressing; a slot without voice is empty. */
interface Slots {
  readonly places: Uint32Array;
  readonly sums: Float32Array;
  readonly voices: Uint8Array;
  readonly taken: Uint32Array;
  takenCount: number;
}

/** Unused slots of about 7 MB each. They are cleared and reused, because clearing the used slots is cheaper. */
const spare: Slots[] = [];

export function createTally(): Tally {
  const slots = spare.pop() ?? newSlots();
  const { places, sums, voices, taken } = slots;
  return {
    add(place, gain, voice, mayBring) {
      let slot = Math.imul(place, 0x9e3779b1) >>> (32 - SLOTS_LOG2);
      while (voices[slot] !== 0 && places[slot] !== place) slot = (slot + 1) & (SLOT_COUNT - 1);
      const isNew = voices[slot] === 0;
      if (voices[slot] === voice || (isNew && !mayBring)) return false;
      voices[slot] = voice;
      sums[slot] += gain;
      if (!isNew) return false;
      places[slot] = place;
      taken[slots.takenCount++] = slot;
      return true;
    },
    best: (count, least) => bestOf(slots, count, least).map((slot) => places[slot]),
    release() {
      for (let at = 0; at < slots.takenCount; at += 1) {
        sums[taken[at]] = 0;
        voices[taken[at]] = 0;
      }
      slots.takenCount = 0;
      if (spare.length < SPARE_MAX_COUNT) spare.push(slots);
    },
  };
}

function newSlots(): Slots {
  return {
    places: new Uint32Array(SLOT_COUNT),
    sums: new Float32Array(SLOT_COUNT),
    voices: new Uint8Array(SLOT_COUNT),
    taken: new Uint32Array(SLOT_COUNT),
    takenCount: 0,
  };
}

/** A heap with the worst of the best on top: most slots are turned away by one comparison. */
function bestOf({ places, sums, taken, takenCount }: Slots, count: number, least: number): readonly number[] {
  const heap: number[] = [];
  const isWorse = (a: number, b: number): boolean =>
    sums[a] < sums[b] || (sums[a] === sums[b] && places[a] > places[b]);
  const sink = (slot: number): void => {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isWorse(heap[child + 1], heap[child])) child += 1;
      if (child >= heap.length || !isWorse(heap[child], slot)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = slot;
  };
  const rise = (slot: number): void => {
    let at = heap.push(slot) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && isWorse(slot, heap[parent]); parent = (at - 1) >> 1) {
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = slot;
  };
  for (let at = 0; at < takenCount; at += 1) {
    const slot = taken[at];
    if (sums[slot] < least) continue;
    if (heap.length < count) rise(slot);
    else if (isWorse(heap[0], slot)) sink(slot);
  }
  return heap.sort((a, b) => (isWorse(a, b) ? 1 : -1));
}
