import { createHash } from 'node:crypto';

/** Map from sequences to numbers. Memory does not depend on the length of the sequences. */
export interface SequenceTable {
  /** Number of distinct sequences. */
  readonly count: number;
  get(sequence: string): number | undefined;
  /** Stores a number ≥ 0 for the sequence and replaces an earlier one. */
  set(sequence: string, value: number): void;
}

const FIRST_SLOTS = 1024;
const KEY_WORDS = 4;

/**
 * Creates a hash table whose keys are the first 128 bits of each sequence's SHA-256. A collision would cost an attacker
 * about 2⁶⁴ digests.
 * Cost    24 bytes per slot, at most three quarters of the slots used; one digest per call
 */
export function createSequenceTable(): SequenceTable {
  let slots = FIRST_SLOTS;
  let keys = new Uint32Array(KEY_WORDS * slots);
  let values = new Float64Array(slots).fill(-1);
  let count = 0;

  const slotOf = (key: Uint32Array): number => {
    let slot = key[0] & (slots - 1);
    while (values[slot] >= 0 && !isKeyAt(keys, slot, key)) slot = (slot + 1) & (slots - 1);
    return slot;
  };
  const grow = (): void => {
    const [oldKeys, oldValues] = [keys, values];
    slots *= 2;
    keys = new Uint32Array(KEY_WORDS * slots);
    values = new Float64Array(slots).fill(-1);
    oldValues.forEach((value, old) => {
      if (value < 0) return;
      const key = oldKeys.subarray(KEY_WORDS * old, KEY_WORDS * (old + 1));
      const slot = slotOf(key);
      keys.set(key, KEY_WORDS * slot);
      values[slot] = value;
    });
  };
  return {
    get count() {
      return count;
    },
    get(sequence) {
      const value = values[slotOf(keyOf(sequence))];
      return value < 0 ? undefined : value;
    },
    set(sequence, value) {
      if (4 * (count + 1) > 3 * slots) grow();
      const key = keyOf(sequence);
      const slot = slotOf(key);
      if (values[slot] < 0) count += 1;
      keys.set(key, KEY_WORDS * slot);
      values[slot] = value;
    },
  };
}

function isKeyAt(keys: Uint32Array, slot: number, key: Uint32Array): boolean {
  const start = KEY_WORDS * slot;
  return (
    keys[start] === key[0] &&
    keys[start + 1] === key[1] &&
    keys[start + 2] === key[2] &&
    keys[start + 3] === key[3]
  );
}

function keyOf(sequence: string): Uint32Array {
  const digest = createHash('sha256').update(sequence, 'latin1').digest();
  return Uint32Array.from({ length: KEY_WORDS }, (_, word) => digest.readUInt32LE(4 * word));
}
