// @module-tag long

import { spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { seededRandom } from '#src/random.js';
import { environmentOf, useAppliance, type Folders, type UsedAppliance } from './used-appliance.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/*
 * Every kind of file of an appliance is changed or cut off. fsck reports a finding, the start refuses with a sentence,
 * and no process hangs or ends by a signal. GLOAMING_MUTATIONS=100 sets the number per kind; GLOAMING_SEED chooses
 * others.
 */

const MUTATIONS = repetitions('GLOAMING_MUTATIONS', 1, 100);
const SEED = Number(process.env.GLOAMING_SEED ?? 20261122);
const SCENE = fileURLToPath(new URL('damaged-appliance.mjs', import.meta.url));
/** No damage may fill the disk. */
const FILE_MAX_KIBIBYTES = 400_000;
const HANG_MS = 60_000;

let used: UsedAppliance;
let folders: Folders;
let settings: string;
let paths: readonly string[];

beforeAll(async () => {
  used = await useAppliance();
  folders = used.copy();
  settings = join(folders.dataFolder, '..', 'appliance.json');
  writeFileSync(settings, JSON.stringify({ storage_reserve_mib: 1, requests_per_minute: 6_000 }));
  paths = ['data', 'indexes'].flatMap((name) => {
    const folder = join(folders.dataFolder, '..', name);
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  });
}, 60_000);
afterAll(() => used?.end());

/** Files of each kind, by name; of several the first by path. */
const KINDS: Readonly<Record<string, (path: string) => boolean>> = {
  'the manifest of a release': (path) => basename(path) === 'manifest.json',
  'the targets of a release': (path) => basename(path) === 'targets.arrow' && !path.includes('.calibration'),
  'the attributes of a release': (path) => basename(path) === 'attributes.arrow',
  'the tokens of a release': (path) => basename(path) === 'tokens.arrow',
  'the taxonomy of a release': (path) => basename(path) === 'taxonomy.arrow',
  'the names of a release': (path) => basename(path) === 'names.index',
  'the card of a calibration': (path) => path.includes('.calibration/') && path.endsWith('.json'),
  'a table of a calibration': (path) => path.includes('.calibration/') && path.endsWith('.arrow'),
  'the card of neighbours': (path) => path.includes('.neighbours/') && path.endsWith('.json'),
  'the edges of neighbours': (path) => path.includes('.neighbours/') && path.endsWith('.arrow'),
  'the card of an encoder': (path) => path.includes('/encoders/') && basename(path) === 'card.json',
  'the model of an encoder': (path) => path.includes('/encoders/') && path.endsWith('.onnx'),
  'a stored object': (path) => /\/objects\/[0-9a-f]{2}\/[0-9a-f]{64}$/.test(path),
  'the control state': (path) => basename(path) === 'data.mdb',
  "the control state's lock": (path) => basename(path) === 'lock.mdb',
  'the secret key': (path) => basename(path) === 'secret.key',
  'the settings': (path) => path === settings,
};
/**
 * Kinds whose damage may be harmless. LMDB recreates its lock and has unused pages. Of settings only grammar and bounds
 * are checked. A key file that still decodes to the same key works.
 */
const UNTOLD = new Set(["the control state's lock", 'the control state', 'the settings', 'the secret key']);

const random = seededRandom(SEED);

function mutate(path: string, bytes: Buffer): void {
  const size = bytes.length;
  const kind = random.below(4);
  if (kind === 0) return truncateSync(path, random.below(size));
  if (kind === 1) return appendFileSync(path, Buffer.alloc(1 + random.below(100), random.below(256)));
  const start = random.below(size);
  const length = Math.min(size - start, kind === 2 ? 1 : 4_096);
  const noise = Buffer.from(Array.from({ length }, (_, at) => bytes[start + at]! ^ (1 + random.below(255))));
  writeFileSync(path, Buffer.concat([bytes.subarray(0, start), noise, bytes.subarray(start + length)]));
}

function useDamaged() {
  const environment = { ...process.env, ...environmentOf(folders), GLOAMING_CONFIG: settings };
  const { sequence } = simulateProteins(7, 40).proteins[0]!;
  const argv = [
    '-c',
    `ulimit -f ${2 * FILE_MAX_KIBIBYTES}; exec "$0" "$@"`,
    process.execPath,
    SCENE,
    sequence,
  ];
  const options = { encoding: 'utf8', timeout: HANG_MS, killSignal: 'SIGKILL', env: environment } as const;
  return spawnSync('sh', [...argv, used.ids.file], options);
}

describe(`an appliance of which was changed (seed ${SEED})`, () => {
  it('nothing, is whole', { timeout: HANG_MS }, () => {
    const { status, signal, stdout, stderr } = useDamaged();
    expect({ status, signal, stderr: status === 0 ? '' : stderr }).toEqual({
      status: 0,
      signal: null,
      stderr: '',
    });
    expect(JSON.parse(stdout)).toMatchObject({
      fsck: [],
      start: 'ok',
      search: 10,
      file: used.fileBytes.length,
    });
  });

  it.each(Object.keys(KINDS))(
    '%s, reports the damage and ends without a signal',
    { timeout: MUTATIONS * HANG_MS },
    (kind) => {
      const path = kind === 'the settings' ? settings : paths.filter(KINDS[kind]!).sort()[0]!;
      expect(path, `${DEMO_SLUG} has ${kind}`).toBeTypeOf('string');
      const state = join(folders.dataFolder, 'control', 'data.mdb');
      const [bytes, stateBytes] = [readFileSync(path), readFileSync(state)];
      for (let count = 0; count < MUTATIONS; count += 1) {
        mutate(path, bytes);
        const { status, signal, stdout, stderr } = useDamaged();
        writeFileSync(state, stateBytes);
        writeFileSync(path, bytes);
        const ended = { count, status, signal, stderr: status === 0 ? '' : stderr };
        expect(ended).toEqual({ count, status: 0, signal: null, stderr: '' });
        const outcome = JSON.parse(stdout) as {
          readonly fsck: string | readonly string[];
          readonly start: string;
        };
        expect(JSON.stringify(outcome)).not.toMatch(/\\n\s+at /);
        const isReported = outcome.fsck.length > 0 || outcome.start !== 'ok';
        expect({ count, said: outcome, isTold: isReported || UNTOLD.has(kind) }).toEqual({
          count,
          said: outcome,
          isTold: true,
        });
      }
    },
  );
});
