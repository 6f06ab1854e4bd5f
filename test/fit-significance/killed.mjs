import { writeSync } from 'node:fs';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { nativeBackend } from '#src/kernels/native.js';
import { openRelease } from '#src/release/open.js';

/*
 * Calibrates a release, says as JSON how often encoder and kernels were called, and, where a phase is named, kills
 * itself in it:
 *
 *   node killed.mjs <folder of the release> <seed> [<phase> <how much of it has to be done: 0 to 1>]
 */

const DIMENSION = 32;
const STANDARD_OUTPUT = 1;

/** Options of a calibration, and the calls that are made through them. */
async function countedOptions(directory) {
  const release = await openRelease(directory);
  const backend = nativeBackend();
  const calls = { encode: 0, measure: 0, maxsim: 0 };
  const counted = (object, name) => ({
    [name]: (...given) => {
      calls[name] += 1;
      return object[name](...given);
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

/** Tokens that follow from all letters before them. */
function tokensOf(sequence) {
  let state = sequence.length;
  return Int8Array.from({ length: sequence.length * DIMENSION }, (_, at) => {
    state = (Math.imul(state, 1_103_515_245) + sequence.charCodeAt(Math.floor(at / DIMENSION))) >>> 0;
    return ((state >>> 16) % 79) - 39;
  });
}

const [directory, seed, phase, share] = process.argv.slice(2);
const { options, calls } = await countedOptions(directory);
const say = () => writeSync(STANDARD_OUTPUT, JSON.stringify(calls));
let wanted = Infinity;
await calibrateRelease({
  ...options,
  seed: Number(seed),
  onPlan(phases) {
    const at = phases.findIndex(({ name }) => name === phase);
    if (at === -1) return;
    const before = phases.slice(0, at).reduce((sum, { weight }) => sum + weight, 0);
    wanted = Math.floor(before + Number(share) * phases[at].weight);
  },
  onProgress({ phase: name, done }) {
    if (name !== phase || done < wanted) return;
    say();
    process.kill(process.pid, 'SIGKILL');
  },
});
say();
