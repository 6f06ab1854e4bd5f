import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '#src/services/backup/fsck.js';
import { FINDING_KINDS, type Finding, type FindingKind } from '#src/store/check/findings.js';
import { TABLE_SHAPES } from '#src/store/check/rows.js';
import type { ControlStore } from '#src/store/control-store.js';
import {
  addForgedReleases,
  environmentOf,
  tamper,
  useAppliance,
  writeJunk,
  type Folders,
  type UsedAppliance,
} from './used-appliance.js';
import { PROGRAM, ROOT } from '../../tools/paths.js';

const main = PROGRAM;
const storeFolder = join(ROOT, 'src/store');

let used: UsedAppliance;
beforeAll(async () => {
  used = await useAppliance();
}, 120_000);
afterAll(() => used.end());

async function findingsIn(folders: Folders): Promise<readonly Finding[]> {
  return (await fsck({ folders, now: new Date() })).findings;
}

/** Returns the kinds of findings after damage to a copy. */
async function afterDamage(damage: (folders: Folders) => unknown): Promise<readonly Finding[]> {
  const folders = used.copy();
  await damage(folders);
  return findingsIn(folders);
}

function kindsOf(findings: readonly Finding[]): FindingKind[] {
  return [...new Set(findings.map(({ kind }) => kind))].sort();
}

function filesBelow(folder: string, suffix = ''): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

const firstObject = ({ dataFolder }: Folders): string => filesBelow(join(dataFolder, 'objects'))[0]!;

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

const firstKey = (store: ControlStore, table: string): string =>
  [...store.table(table).getKeys({ limit: 1 })][0] as string;

function change(table: string, changed: object) {
  return ({ dataFolder }: Folders): Promise<void> =>
    tamper(dataFolder, (store) => {
      const rows = store.table<object>(table);
      const key = firstKey(store, table);
      rows.putSync(key, { ...rows.get(key), ...changed });
    });
}

function drop(table: string) {
  return ({ dataFolder }: Folders): Promise<void> =>
    tamper(dataFolder, (store) => void store.table(table).removeSync(firstKey(store, table)));
}

/** Moves the first row to another key, so that the table has a wrong entry and lacks a right one. */
function misplace(table: string, to: string) {
  return ({ dataFolder }: Folders): Promise<void> =>
    tamper(dataFolder, (store) => {
      const rows = TABLE_SHAPES[table] === 'bytes' ? store.bytes(table) : store.table<any>(table);
      const key = firstKey(store, table);
      rows.putSync(to, rows.get(key)!);
      rows.removeSync(key);
    });
}

type Damage = (folders: Folders) => unknown;

/** Every damage with exactly the kinds of findings that it must cause. */
const DAMAGES: readonly (readonly [name: string, damage: Damage, kinds: readonly FindingKind[]])[] = [
  ['a stored object is gone', (at) => unlinkSync(firstObject(at)), ['object_missing']],
  ['a stored object has a flipped bit', (at) => flipBit(firstObject(at)), ['object_changed']],
  ['a stored object was cut off', (at) => truncateSync(firstObject(at), 100), ['object_size_wrong']],
  [
    'an unknown file lies among the objects',
    (at) => writeJunk(join(at.dataFolder, 'objects', 'ab', 'ab'.repeat(32))),
    ['object_unreferenced'],
  ],
  [
    'half a file lies where bytes come in',
    (at) => writeJunk(join(at.dataFolder, 'objects', 'incoming', 'half')),
    ['object_half'],
  ],
  ['the row of an object is gone', drop('objects'), ['object_unreferenced', 'reference_dangling']],
  ['the row of a content is gone', drop('contents'), ['count_wrong', 'index_dangling', 'reference_dangling']],
  ['the pieces of a content are gone', drop('content-segments'), ['count_wrong', 'reference_dangling']],
  ['references to an object are miscounted', change('objects', { referenceCount: 7 }), ['count_wrong']],
  ['references to a content are miscounted', change('contents', { referenceCount: 2 }), ['count_wrong']],
  ['what an organization keeps is miscounted', change('storage-usage', { fileBytes: 1 }), ['total_wrong']],
  ['a file is gone from its table', drop('files'), ['count_wrong', 'index_dangling', 'total_wrong']],
  [
    'a file does not stand at its path',
    misplace('files-by-path', 'lab/other'),
    ['index_dangling', 'index_missing'],
  ],
  [
    'an open upload is gone and its parts are not',
    ({ dataFolder }) =>
      tamper(dataFolder, (store) => void store.table('uploads').removeSync(used.ids.upload)),
    ['index_dangling', 'reference_dangling', 'total_wrong'],
  ],
  [
    'parts stand for an upload that is not there',
    misplace('upload-parts', 'upl_none 00001'),
    ['reference_dangling'],
  ],
  ['an upload would never expire', drop('upload-expiries'), ['index_missing']],
  ['a block of results is gone', drop('run-rows'), ['run_rows_damaged']],
  [
    'a block of results has a flipped bit',
    ({ dataFolder }) =>
      tamper(dataFolder, (store) => {
        const key = firstKey(store, 'run-rows');
        const bytes = Buffer.from(store.bytes('run-rows').get(key)!);
        bytes[bytes.length >> 1]! ^= 1;
        store.bytes('run-rows').putSync(key, bytes);
      }),
    ['run_rows_damaged'],
  ],
  [
    'results stand for a run that is not there',
    misplace('run-rows', 'run_none 000000000'),
    ['index_dangling', 'run_rows_damaged'],
  ],
  ['a run has another number of rows', change('runs', { rowCount: 3 }), ['run_rows_damaged']],
  [
    'a run is listed nowhere',
    misplace('runs-by-organization', 'lab x run_x'),
    ['index_dangling', 'index_missing'],
  ],
  ['a run would be kept for ever', drop('run-expiries'), ['index_missing']],
  ['a run has a state that its events do not tell', change('runs', { status: 'failed' }), ['event_missing']],
  [
    'a run is queued without a plan',
    change('runs', { status: 'queued' }),
    ['event_missing', 'index_dangling', 'index_missing', 'reference_dangling'],
  ],
  ['an event is gone, with a delivery of it', drop('events'), ['delivery_without_event', 'event_missing']],
  [
    'a delivery has no event',
    change('webhook-deliveries', { eventId: 'evt_none' }),
    ['delivery_without_event'],
  ],
  ['a pending delivery is never due', drop('webhook-deliveries-due'), ['index_missing']],
  ['a receipt was changed', change('receipts', { content: { format: 'other' } }), ['value_changed']],
  ['a receipt is gone', drop('receipts'), ['index_dangling']],
  ['a receipt is counted for no organization', drop('receipts-by-organization'), ['index_missing']],
  [
    'a receipt is counted for an organization that did not make it',
    misplace('receipts-by-organization', 'none 2026-01-01T00:00:00.000Z rcpt_x'),
    ['index_dangling', 'index_missing'],
  ],
  ['an alignment is counted for no organization', drop('msas-by-organization'), ['index_missing']],
  ['an alignment is gone', drop('msas'), ['count_wrong', 'index_dangling']],
  [
    'an alignment leads to other bytes',
    change('msas', { content: { sha256: '00'.repeat(32), sizeBytes: 1 } }),
    ['count_wrong', 'reference_dangling'],
  ],
  ['a target space was changed', change('target-spaces', { canonicalFilter: null }), ['value_changed']],
  [
    'a database has no default release',
    change('databases', { defaultReleaseId: 'dbr_none' }),
    ['reference_dangling'],
  ],
  ['a kept response is gone', drop('idempotency'), ['index_dangling', 'total_wrong']],
  [
    'a kept response has lost what it holds',
    misplace('idempotency-responses', 'elsewhere'),
    ['index_dangling', 'reference_dangling'],
  ],
  ['stored responses were miscounted', change('idempotency-usage', { responses: 99 }), ['total_wrong']],
  ['usage was miscounted', change('usage-totals', { units: 99 }), ['total_wrong']],
  ['an entry of the ledger has no place', drop('usage-order'), ['index_dangling', 'index_missing']],
  ['a key stands under another name', misplace('api-keys', 'otherkey'), ['index_dangling']],
  [
    'a row does not decode',
    ({ dataFolder }) =>
      tamper(dataFolder, (store) =>
        store.bytes('receipts').putSync(firstKey(store, 'receipts'), Buffer.from('{"id')),
      ),
    ['row_unreadable'],
  ],
  ['a row lacks a member', change('webhook-endpoints', { url: 7 }), ['row_unreadable']],
  [
    'bytes wait to be removed',
    (at) => {
      writeJunk(join(at.dataFolder, 'objects', 'ab', 'ab'.repeat(32)));
      return tamper(at.dataFolder, (store) => void store.table('object-garbage').putSync('ab'.repeat(32), 1));
    },
    ['object_garbage'],
  ],
  [
    'a row waits for bytes to be removed that are gone: that is no finding',
    ({ dataFolder }) =>
      tamper(dataFolder, (store) => void store.table('object-garbage').putSync('ab'.repeat(32), 1)),
    [],
  ],
  [
    'a file of a release has a flipped bit',
    (at) => flipBit(filesBelow(at.indexesFolder, 'attributes.arrow')[0]!),
    ['release_damaged'],
  ],
  [
    'a file of a release is gone',
    (at) => unlinkSync(filesBelow(at.indexesFolder, 'tokens.arrow')[0]!),
    ['release_damaged'],
  ],
  [
    'manifests under their own ids have no members, or name a file outside',
    addForgedReleases,
    ['release_damaged'],
  ],
  [
    'a release is gone',
    (at) => rmSync(join(filesBelow(at.indexesFolder, 'tokens.arrow')[0]!, '..'), { recursive: true }),
    ['release_missing'],
  ],
  ['the calibration of a release is damaged', (at) => flipBit(calibrationOf(at)), ['calibration_damaged']],
  [
    'a calibration was written to its half',
    (at) => renameSync(join(calibrationOf(at), '..'), `${join(calibrationOf(at), '..')}.new`),
    ['folder_half'],
  ],
  [
    'the neighbours of a release are damaged',
    (at) => flipBit(filesBelow(`${releaseOf(at)}.neighbours`, '.arrow')[0]!),
    ['neighbours_damaged'],
  ],
  [
    'the card of neighbours is damaged',
    (at) => flipBit(join(`${releaseOf(at)}.neighbours`, 'card.json')),
    ['neighbours_damaged'],
  ],
  [
    'neighbours were not found to the end',
    (at) => mkdirSync(`${releaseOf(at)}.neighbours.work`),
    ['folder_half'],
  ],
  [
    'the release of neighbours does not exist',
    (at) => renameSync(`${releaseOf(at)}.neighbours`, join(releaseOf(at), '..', 'dbr_gone.neighbours')),
    ['folder_half'],
  ],
  [
    'an encoder was copied to its half',
    (at) => writeJunk(join(at.indexesFolder, 'encoders', '.kept', '.copy-x', 'card.json')),
    ['folder_half'],
  ],
  [
    'a homolog source was made to its half',
    (at) => writeJunk(join(at.indexesFolder, 'backgrounds', '.adding-x', 'db')),
    ['folder_half'],
  ],
  [
    'the card of a homolog source is damaged',
    (at) => writeJunk(join(at.indexesFolder, 'backgrounds', 'nature', 'background.json')),
    ['homolog_source_damaged'],
  ],
  [
    'the indexes of a homolog source were made to their half',
    (at) => writeJunk(join(at.indexesFolder, 'backgrounds', 'nature', '.index-x', 'sequences.idx')),
    ['folder_half'],
  ],
  [
    'the indexes of a homolog source have no card',
    (at) => writeJunk(join(at.indexesFolder, 'backgrounds', 'nature', 'index', 'sequences.idx')),
    ['folder_half'],
  ],
  [
    'a build was interrupted',
    (at) => mkdirSync(join(at.indexesFolder, 'mine', '.building-x'), { recursive: true }),
    ['build_unfinished'],
  ],
  [
    'a removal was interrupted',
    (at) => mkdirSync(join(at.indexesFolder, 'mine', '.removed-x'), { recursive: true }),
    ['removal_unfinished'],
  ],
];

function releaseOf({ indexesFolder }: Folders): string {
  return join(filesBelow(indexesFolder, 'tokens.arrow')[0]!, '..');
}

function calibrationOf(folders: Folders): string {
  return filesBelow(`${releaseOf(folders)}.calibration`, '.arrow')[0]!;
}

describe('fsck', () => {
  it('finds nothing in an appliance with data of every kind', async () => {
    const verdict = await fsck({ folders: used.folders, now: new Date() });
    expect(verdict.findings).toEqual([]);
    expect(verdict.rowCount).toBeGreaterThan(30);
    expect(verdict.objectCount).toBeGreaterThan(3);
    expect(verdict.releaseCount).toBe(1);
  });

  it.each(DAMAGES)('finds that %s', { timeout: 60_000 }, async (_, damage, kinds) => {
    const findings = await afterDamage(damage);
    expect(kindsOf(findings), JSON.stringify(findings, undefined, 1)).toEqual([...kinds]);
  });

  it('names forged manifests, reads no file outside, and checks the other releases', async () => {
    const folders = used.copy();
    flipBit(filesBelow(folders.indexesFolder, 'attributes.arrow')[0]!);
    const forged = addForgedReleases(folders).map(
      (directory) => `forged/${basename(directory)}/manifest.json`,
    );
    const findings = await findingsIn(folders);
    expect(findings.map(({ subject, message }) => [subject, message])).toEqual(
      expect.arrayContaining([
        [forged[0], 'It has no valid title.'],
        [forged[1], 'It has no valid files.names.path.'],
        [expect.stringMatching(/^demo\/.*\/attributes\.arrow$/), expect.any(String)],
      ]),
    );
    expect(findings).toHaveLength(3);
  });

  it('finds that the encoder of a release is gone', async () => {
    const folders = { ...used.copy(), packageFolder: used.folder };
    rmSync(join(folders.indexesFolder, 'encoders'), { recursive: true });
    expect(kindsOf(await findingsIn(folders))).toEqual(['encoder_missing']);
  });

  it('has a damage planted for each kind of finding', () => {
    const planted = new Set<FindingKind>(DAMAGES.flatMap(([, , kinds]) => kinds));
    const others = (Object.keys(FINDING_KINDS) as FindingKind[]).filter((kind) => !planted.has(kind));
    // Damaged pages and copies of encoders have tests of their own.
    expect(others).toEqual(['control_state_damaged', 'encoder_missing', 'encoder_copy_damaged']);
  });

  it('reads every table of the store', () => {
    const tables = filesBelow(storeFolder, '.ts').flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/store\.(?:table|bytes)(?:<.*>)?\('([a-z-]+)'\)/g)].map(
        (match) => match[1]!,
      ),
    );
    expect(tables.length).toBeGreaterThan(30);
    expect(tables.filter((name) => !(name in TABLE_SHAPES))).toEqual([]);
  });

  it('changes nothing, names the repair of each finding, and exits with 2 if there is damage', async () => {
    const folders = used.copy();
    flipBit(firstObject(folders));
    writeJunk(join(folders.dataFolder, 'objects', 'incoming', 'half'));
    const before = filesBelow(folders.dataFolder).filter((path) => !path.endsWith('lock.mdb'));
    const bytes = before.map((path) => readFileSync(path));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [main, 'fsck', ...args], {
        env: { ...process.env, ...environmentOf(folders) },
        encoding: 'utf8',
      });
    const text = run();
    expect(text.status).toBe(2);
    expect(text.stdout).toContain('DAMAGE\n  object changed (1)\n');
    expect(text.stdout).toContain(FINDING_KINDS.object_changed.remedy);
    expect(text.stdout).toContain('Leftovers\n  object half (1)\n');
    const json = JSON.parse(run('--json').stdout);
    expect(json).toMatchObject({ is_intact: false, release_count: 1 });
    expect(json.findings.map(({ kind }: Finding) => kind)).toEqual(['object_changed', 'object_half']);
    expect(before.map((path) => readFileSync(path).equals(bytes[before.indexOf(path)]!))).not.toContain(
      false,
    );
    unlinkSync(join(folders.dataFolder, 'objects', 'incoming', 'half'));
  });
});
