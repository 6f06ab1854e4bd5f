import { writeSync } from 'node:fs';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { nativeBackend } from '#src/kernels/native.js';
import { openRelease } from '#src/release/open.js';

/*
 * Calibrates a release and prints as JSON how often it called encoder and kernels. If a phase is named, the process
 * kills itself in that phase:
 *
 *   node killed.mjs <folder of the release> <seed> [<phase> <share of the phase that is done first: 0 to 1>]
 */

const DIMENSION = 32;
const STANDARD_OUTPUT = 1;

/** Options of a calibration that count the calls of encoder and kernels. */
async function countedOptions(directory) {
  const release = await openRelease(directory);
  const backend = nativeBackend();
  const calls = { encode: 0, measure: 0, maxsim: 0 };
  const counted = (object, name) => ({
    [name]: (...values) => {
      calls[name] += 1;
      return object[name](...values);
    },
  });
  const encoder = {
    card: {},
    digest: 'by letters',
    device: 'cpu',
    encode: async (sequences) =>
      sequences.map((sequence) => ({ values: tokensOf(sequence), length: sequence.length })),
    close: async () => undefined,
  };
  return {
    calls,
    options: {
      release,
      backend: { ...backend, ...counted(backend, 'measure'), ...counted(backend, 'maxsim') },
      store: await backend.open(release.tokens),
      encoder: { ...encoder, ...counted(encoder, 'encode') },
      threads: 1,
    },
  };
}

/** Tokens that depend on all preceding letters. */
function tokensOf(sequence) {
  let state = sequence.length;
  return Int8Array.from({ length: sequence.length * DIMENSION }, (_, at) => {
    state = (Math.imul(state, 1_103_515_245) + sequence.charCodeAt(Math.floor(at / DIMENSION))) >>> 0;
    return ((state >>> 16) % 79) - 39;
  });
}

const [directory, seed, phase, share] = process.argv.slice(2);
const { options, calls } = await countedOptions(directory);
const printCalls = () => writeSync(STANDARD_OUTPUT, JSON.stringify(calls));
let killAtDone = Infinity;
await calibrateRelease({
  ...options,
  seed: Number(seed),
  onPlan(phases) {
    const at = phases.findIndex(({ name }) => name === phase);
    if (at === -1) return;
    const before = phases.slice(0, at).reduce((sum, { weight }) => sum + weight, 0);
    killAtDone = Math.floor(before + Number(share) * phases[at].weight);
  },
  onProgress({ phase: name, done }) {
    if (name !== phase || done < killAtDone) return;
    printCalls();
    process.kill(process.pid, 'SIGKILL');
  },
});
printCalls();
