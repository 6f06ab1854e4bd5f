import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { sha256Hex } from '#src/canonical.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { writeCalibration, type CardContent } from '#src/fit-significance/write.js';
import { MANIFEST_FILE, RELEASE_FORMAT } from '#src/release/format.js';
import type { ReleaseManifest } from '#src/release/release.js';
import { CARD_FORMAT } from '#src/significance/card.js';
import { serve } from '#src/cli/serve/serve.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { writeManifestFolder } from '../../release/make-release.js';
import { openDemoAppliance } from '../../tools/demo-appliance.js';
import { writeNeighbours } from '../../tools/neighbours.js';
import { ask, bytesOf, putPart, type Json } from '../storage/storage-served.js';

/* A stopped appliance with data of every kind, and copies of it to damage. */

export interface UsedAppliance {
  readonly folder: string;
  readonly folders: Folders;
  readonly key: string;
  readonly ids: Readonly<Record<'run' | 'receipt' | 'msa' | 'file' | 'upload', string>>;
  readonly fileBytes: Buffer;
  /** Makes a copy in a folder of its own. */
  copy(): Folders;
  /** Returns an unused path. */
  place(): string;
  /** Returns the folders of an appliance that does not exist yet. */
  newFolders(): Folders;
  end(): void;
}

export interface Folders {
  readonly dataFolder: string;
  readonly indexesFolder: string;
  readonly packageFolder: string;
}

const PART = 5 * 1024 * 1024;
export const SECRET = 'a file beside the folders';

/** Relative paths of the plain files below a folder, without locks of LMDB. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'lock.mdb')
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

export function environmentOf({ dataFolder, indexesFolder }: Omit<Folders, 'packageFolder'>) {
  return {
    GLOAMING_DATA: dataFolder,
    GLOAMING_INDEXES: indexesFolder,
    GLOAMING_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
    GLOAMING_LOG_LEVEL: 'error',
    GLOAMING_WEBHOOK_NETWORKS: '127.0.0.0/8',
  };
}

export async function useAppliance(): Promise<UsedAppliance> {
  const opened = await openDemoAppliance({
    seed: 7,
    proteins: 40,
    environment: { GLOAMING_LOG_LEVEL: 'error' },
  });
  const { appliance, folder, environment, sequences, release, remove } = opened;
  const dataFolder = environment.GLOAMING_DATA!;
  const indexesFolder = environment.GLOAMING_INDEXES!;
  await appliance.storeEncoder('baseline-1');
  const key = await opened.keyOf('lab');
  const server = await serve(appliance, pino({ level: 'error' }), { isResponseChecked: true });
  const call = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await ask(server.url + path, method, key, body, headers);
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const fileBytes = bytesOf(3, PART + 1_000);
  const ids = await useAll(call, sequences[0]!, fileBytes);
  await server.stop(2_000);
  await appliance.close();
  await calibrate(release.directory, release.id);
  await writeNeighbours(release.directory, release.id, 40, [
    { query: 0, target: 1, log: -3 },
    { query: 1, target: 0, log: -2.5 },
  ]);
  let places = 0;
  const { packageFolder } = appliance.config;
  const place = (): string => join(folder, `place-${(places += 1)}`);
  const newFolders = (): Folders => {
    const path = place();
    return { dataFolder: join(path, 'data'), indexesFolder: join(path, 'indexes'), packageFolder };
  };
  return {
    folder,
    folders: { dataFolder, indexesFolder, packageFolder },
    key,
    ids,
    fileBytes,
    copy() {
      const copied = newFolders();
      cpSync(dataFolder, copied.dataFolder, { recursive: true });
      cpSync(indexesFolder, copied.indexesFolder, { recursive: true });
      return copied;
    },
    place,
    newFolders,
    end: remove,
  };
}

type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Json>;

async function useAll(call: Call, sequence: string, fileBytes: Buffer): Promise<UsedAppliance['ids']> {
  // No server listens at this address, so deliveries stay pending.
  const endpoint = { url: 'http://127.0.0.1:9/hook', event_types: ['run.completed', 'file.completed'] };
  await call('POST', '/v1/webhooks/endpoints', endpoint, { 'Idempotency-Key': 'endpoint' });
  const query = { kind: 'protein_sequence', sequence };
  const filter = { op: 'gte', field: 'length', value: '1' };
  const evidence = 'pairwise_sequence_alignment';
  const answer = await call('POST', '/v1/homology', { query, evidence, filter, limit: 10 });
  const msa = await call('POST', '/v1/sequences/msa/a3m', { receipt_id: answer.receipt.id });
  await call('POST', '/v1/sequences/msa/components', { receipt_id: answer.receipt.id }).catch(
    () => undefined,
  );
  const input = { query, limit: 20 };
  const prefer = { Prefer: 'wait=30', 'Idempotency-Key': 'run' };
  const run = await call('POST', '/v1/runs', { endpoint: 'homology.search', input }, prefer);
  const file = await upload(call, 'folder/kept.bin', fileBytes);
  await upload(call, 'folder/gone.bin', bytesOf(5, 2_000));
  await call('DELETE', '/v1/storage/files?path=folder/gone.bin');
  const open = await begin(call, 'open.bin', bytesOf(4, PART + 10), [1]);
  return {
    run: run.data?.id ?? run.id,
    receipt: answer.receipt.id,
    msa: msa.data.id,
    file: new URL(file.url).pathname,
    upload: open.id,
  };
}

async function upload(call: Call, name: string, bytes: Buffer): Promise<Json> {
  const { id } = await begin(call, name, bytes);
  return (await call('POST', `/v1/storage/uploads/${id}/complete`)).data;
}

async function begin(call: Call, name: string, bytes: Buffer, parts?: readonly number[]): Promise<Json> {
  const wanted = { file_name: name, size_bytes: bytes.length, part_size_bytes: PART };
  const { data } = await call('POST', '/v1/storage/uploads', wanted);
  for (const part of parts ?? Array.from({ length: data.part_count }, (_, index) => index + 1)) {
    const urls = await call('POST', `/v1/storage/uploads/${data.id}/part-urls`, { part_numbers: [part] });
    await putPart(urls.data.urls[0].url, bytes.subarray((part - 1) * PART, part * PART));
    await call('POST', `/v1/storage/uploads/${data.id}/parts/${part}/acknowledge`, {});
  }
  return data;
}

/**
 * Adds files of a calibration that was not measured, because there are too few proteins. Copies and checks need only
 * files.
 */
async function calibrate(releaseDirectory: string, releaseId: string): Promise<void> {
  const content = {
    format: CARD_FORMAT,
    release_id: releaseId,
    bins: [] as unknown,
  } as unknown as CardContent;
  const values = Float32Array.of(1, 2);
  const moments = { dimension: 1, rank: 1, means: values, sketches: values, basis: values.subarray(1) };
  const hubnesses = { of: (target: number) => ({ hubness: values[target], hubnessComponents: [] }) };
  await writeCalibration(releaseDirectory, content, { moments, hubnesses });
}

/** Changes the control state directly, without the appliance. */
export async function tamper(dataFolder: string, work: (store: ControlStore) => void): Promise<void> {
  const store = openControlStore(dataFolder);
  await store.transaction(() => work(store));
  await store.close();
}

export function writeJunk(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, 'junk');
}

/** Adds two releases under their own ids: one whose manifest has no members, and one whose names lie outside. */
export function addForgedReleases({ indexesFolder }: Folders): readonly string[] {
  const [release] = readdirSync(join(indexesFolder, DEMO_SLUG)).filter((name) =>
    /^dbr_[0-9a-f]{64}$/.test(name),
  );
  const text = readFileSync(join(indexesFolder, DEMO_SLUG, release!, MANIFEST_FILE), 'utf8');
  const { files, ...manifest } = JSON.parse(text) as ReleaseManifest;
  const names = { path: '../../../secret.txt', size_bytes: SECRET.length, sha256: sha256Hex(SECRET) };
  writeFileSync(join(indexesFolder, '..', 'secret.txt'), SECRET);
  const folder = join(indexesFolder, 'forged');
  return [
    writeManifestFolder(folder, { format: RELEASE_FORMAT }),
    writeManifestFolder(folder, { ...manifest, files: { ...files, names } }),
  ];
}
