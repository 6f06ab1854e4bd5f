import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fault, Refusal } from '#src/errors.js';
import type { QueryTokens } from '#src/kernels/kernels.js';
import { loadEncoder } from '#src/encoder/load.js';
import { startEncodeThread } from '#src/encoder/thread.js';
import type { Encoder, EncoderCard } from '#src/encoder/encoder.js';
import { randomProteins } from '../tools/random-proteins.js';
import { ROOT } from '../tools/paths.js';

const baseline = join(ROOT, 'indexes/encoders/baseline-1');
const seed = Date.now() % 100_000;
const proteins = randomProteins(40, { seed, minResidues: 1, maxResidues: 400 });

describe(`an encoder (random proteins of seed ${seed})`, () => {
  let folder: string;
  let encoder: Encoder;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-encode-'));
    encoder = await loadEncoder(baseline, { threads: 2 });
  });
  afterAll(async () => {
    await encoder.close();
    rmSync(folder, { recursive: true });
  });

  /** A copy of the baseline whose card is changed. */
  const variant = (name: string, change: (card: EncoderCard) => object): string => {
    const directory = join(folder, name);
    cpSync(baseline, directory, { recursive: true });
    const card = JSON.parse(readFileSync(join(directory, 'card.json'), 'utf8')) as EncoderCard;
    writeFileSync(join(directory, 'card.json'), JSON.stringify({ ...card, ...change(card) }));
    return directory;
  };

  it('gives one int8 row per residue, with a norm that is close to one divided by the step', async () => {
    const tokens = await encoder.encode(proteins);
    tokens.forEach(({ values, length }, i) => {
      expect(length).toBe(proteins[i].length);
      expect(values).toHaveLength(length * 64);
      for (const norm of squaredNorms(values, 64)) {
        expect(norm).toBeLessThanOrEqual(32_767);
        expect(Math.abs(Math.sqrt(norm) - 173)).toBeLessThan(4);
      }
    });
  });

  it('gives a protein the same tokens alone and in a batch, in any order, with any number of threads', async () => {
    const together = await encoder.encode(proteins);
    const reversed = (await encoder.encode(proteins.toReversed())).toReversed();
    expect(haveSameTokens(reversed, together)).toBe(true);
    const single = await loadEncoder(baseline, { threads: 1 });
    const alone: QueryTokens[] = [];
    for (const protein of proteins) alone.push(...(await single.encode([protein])));
    expect(haveSameTokens(alone, together)).toBe(true);
    await single.close();
  });

  it('gives zero tokens to a protein of unknown residues', async () => {
    const [{ values }] = await encoder.encode(['X'.repeat(20)]);
    expect(values.every((value) => value === 0)).toBe(true);
  });

  it('cuts the vectors of special tokens off', async () => {
    const special = await loadEncoder(
      variant('special', ({ tokenizer }) => ({
        tokenizer: { ...tokenizer, prefix: [21, 21], suffix: [21] },
      })),
      { threads: 1 },
    );
    // Token 21 is all zeros, as is what lies beyond the ends, so nothing but the cut differs.
    const [[expected], [actual]] = await Promise.all([
      encoder.encode(['MKVLAT']),
      special.encode(['MKVLAT']),
    ]);
    expect(actual).toEqual(expected);
    await special.close();
  });

  it('gives a protein in windows the tokens of a single pass', async () => {
    const windowed = await loadEncoder(
      variant('windowed', () => ({ window: { residues: 64, overlap: 20 } })),
      { threads: 2 },
    );
    const [whole, parts] = await Promise.all([encoder.encode(proteins), windowed.encode(proteins)]);
    // A quarter of the overlap is the reach of this model; only the order of float sums may differ, by one
    // step.
    parts.forEach(({ values }, i) => {
      expect(values.every((value, k) => Math.abs(value - whole[i].values[k]) <= 1)).toBe(true);
    });
    await windowed.close();
  });

  it('stops when it is cancelled', async () => {
    const abort = new AbortController();
    const many = Array.from({ length: 2_000 }, (_, i) => proteins[i % proteins.length]);
    const work = encoder.encode(many, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('the client left')), 5);
    await expect(work).rejects.toThrow('the client left');
    await expect(encoder.encode(['MKV'])).resolves.toHaveLength(1);
  });

  it('names its digest by the card, so that another card is another encoder', async () => {
    const other = await loadEncoder(
      variant('other', () => ({ inverse_step: 170 })),
      { threads: 1 },
    );
    expect(encoder.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(other.digest).not.toBe(encoder.digest);
    await other.close();
  });

  it('is refused where its model was changed, before the model is opened', async () => {
    const directory = variant('changed', () => ({}));
    writeFileSync(join(directory, 'model.onnx'), 'no model');
    await expect(loadEncoder(directory)).rejects.toBeInstanceOf(Refusal);
  });

  it.each([
    ['inputs', { inputs: { ids: 'tokens', mask: null } }, /names the inputs tokens, the model has input_ids/],
    ['output', { output: 'hidden' }, /names the output hidden, the model has residue_vectors/],
  ])('faults where the card names other %s than the model has', async (name, change, message) => {
    await expect(loadEncoder(variant(`wrong-${name}`, () => change))).rejects.toThrow(message);
  });

  it('faults on a call that the model cannot run, and serves the next', async () => {
    const broken = await loadEncoder(
      variant('broken', ({ tokenizer }) => ({
        tokenizer: { ...tokenizer, vocabulary: { ...tokenizer.vocabulary, W: 5_000 } },
      })),
      { threads: 1 },
    );
    await expect(broken.encode(['MKV', 'MWV'])).rejects.toBeInstanceOf(Fault);
    await expect(broken.encode(['MKV'])).resolves.toHaveLength(1);
    await broken.close();
  });

  it('faults on cuda where the provider is not installed, without falling back', async () => {
    const attempt = loadEncoder(baseline, { device: 'cuda' });
    const isServed = await attempt.then(
      (onGpu) => onGpu.close().then(() => onGpu.device === 'cuda'),
      (error: unknown) => (expect(error).toBeInstanceOf(Fault), false),
    );
    if (!isServed) await expect(attempt).rejects.toThrow(/cuda/i);
  });
});

describe('an encoder thread', () => {
  it('that dies rejects its pending tasks instead of hanging', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-thread-'));
    const file = join(folder, 'dying-worker.mjs');
    writeFileSync(
      file,
      `import { parentPort } from 'node:worker_threads';
       parentPort.on('message', () => { throw new Error('out of luck'); });
       parentPort.postMessage({ kind: 'ready' });`,
    );
    const card = JSON.parse(readFileSync(join(baseline, 'card.json'), 'utf8')) as EncoderCard;
    const task = { residues: 'MKV', keptStart: 0, keptEnd: 3, fadeIn: 0, fadeOut: 0 };
    const thread = await startEncodeThread(
      { directory: baseline, card, device: 'cpu' },
      new URL(`file://${file}`),
    );
    await expect(thread.encode(task)).rejects.toBeInstanceOf(Fault);
    expect(thread.isEnded).toBe(true);
    await expect(thread.encode(task)).rejects.toBeInstanceOf(Fault);
    await thread.close();
    rmSync(folder, { recursive: true });
  });
});

/** Much faster than a deep comparison. */
function haveSameTokens(a: readonly QueryTokens[], b: readonly QueryTokens[]): boolean {
  return (
    a.length === b.length && a.every(({ values }, i) => Buffer.from(values).equals(Buffer.from(b[i].values)))
  );
}

function* squaredNorms(values: Int8Array, dimension: number): Generator<number> {
  for (let start = 0; start < values.length; start += dimension) {
    yield values.subarray(start, start + dimension).reduce((sum, value) => sum + value * value, 0);
  }
}
