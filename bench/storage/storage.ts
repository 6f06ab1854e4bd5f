import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../../src/errors.js';
import type { Bench } from '../main.js';
import { median } from '../tools/statistics.js';
import { ask, download, uploadFile, type StorageServer } from './client.js';

/*
 * How fast are upload and download of a large file, relative to `cp` and `sha256sum` of the same file on the same disk?
 * How much memory does the server use? An upload includes everything: parts at signed URLs with checksums, joining and
 * hashing. All bytes are on disk when the answer arrives. `cp` leaves its bytes in memory, so the time of a sync is
 * listed beside it.
 *
 * npm run bench -- storage [MiB] [parts at once] [rounds] [folder]
 *
 * The default is 1024 4 3. The arguments 20480 4 1 take some minutes and 45 GB of disk.
 */

const DEFAULT_MEBIBYTES = 1_024;
const DEFAULT_CONCURRENCY = 4;
const DEFAULT_ROUNDS = 3;
const MEBIBYTE = 1024 * 1024;
const SAMPLE_INTERVAL_MS = 20;

export const run: Bench = async ([
  mebibytes = DEFAULT_MEBIBYTES,
  concurrency = DEFAULT_CONCURRENCY,
  roundCount = DEFAULT_ROUNDS,
  place = '.',
]) => {
  const sizeBytes = Number(mebibytes) * MEBIBYTE;
  const folder = await mkdtemp(join(resolve(String(place)), '.bench-storage-'));
  try {
    const { bavail, bsize } = await statfs(folder);
    assert(
      bavail * bsize > 2.2 * sizeBytes,
      'the disk has room for the file and, in turn, its copy and the upload',
    );
    const source = join(folder, 'source');
    const digest = await writeSource(source, sizeBytes);
    const server = await startServer(folder);
    console.log(
      '             cp + sha256sum   and sync      upload    download   upload / copy   memory above idle' +
        '   CPU s/GB up, down',
    );
    const rounds: Round[] = [];
    try {
      for (let round = 0; round < Number(roundCount); round += 1) {
        rounds.push(await measure(server, source, sizeBytes, digest, Number(concurrency)));
        console.log(describe(`round ${round + 1}`, rounds[round] as Round, sizeBytes));
      }
    } finally {
      server.child.kill('SIGTERM');
      await once(server.child, 'exit');
    }
    const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
    const total: Round = {
      copyMs: of(({ copyMs }) => copyMs),
      syncMs: of(({ syncMs }) => syncMs),
      uploadMs: of(({ uploadMs }) => uploadMs),
      downloadMs: of(({ downloadMs }) => downloadMs),
      uploadCpuMs: of(({ uploadCpuMs }) => uploadCpuMs),
      downloadCpuMs: of(({ downloadCpuMs }) => downloadCpuMs),
      peakBytes: Math.max(...rounds.map(({ peakBytes }) => peakBytes)),
    };
    console.log(describe('median', total, sizeBytes));
    return {
      size_bytes: sizeBytes,
      parts_at_once: Number(concurrency),
      copy_and_hash_ms: total.copyMs,
      copy_hash_and_sync_ms: total.copyMs + total.syncMs,
      upload_ms: total.uploadMs,
      download_ms: total.downloadMs,
      server_upload_cpu_ms: total.uploadCpuMs,
      server_download_cpu_ms: total.downloadCpuMs,
      upload_share_of_copy: total.copyMs / total.uploadMs,
      server_peak_memory_above_idle_bytes: total.peakBytes,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
};

interface Round {
  /** Time of `cp`, then `sha256sum` of the copy. */
  readonly copyMs: number;
  /** Additional time until the copy is on disk. */
  readonly syncMs: number;
  readonly uploadMs: number;
  readonly downloadMs: number;
  /** Processor time of the server, with all threads and system calls. */
  readonly uploadCpuMs: number;
  readonly downloadCpuMs: number;
  /** Largest resident set of the server minus the resident set before. */
  readonly peakBytes: number;
}

interface BenchServer extends StorageServer {
  readonly child: ChildProcess;
}

async function measure(
  server: BenchServer,
  source: string,
  sizeBytes: number,
  digest: string,
  concurrency: number,
): Promise<Round> {
  const copy = `${source}.copy`;
  const copyMs = await timed(async () => {
    execFileSync('cp', [source, copy]);
    assert(
      execFileSync('sha256sum', [copy], { encoding: 'utf8' }).startsWith(digest),
      'the copy equals the file',
    );
  });
  const syncMs = await timed(async () => void execFileSync('sync', [copy]));
  await rm(copy);
  const idleBytes = await residentBytes(server.child);
  let peakBytes = idleBytes;
  const sampler = setInterval(() => {
    void residentBytes(server.child).then((bytes) => (peakBytes = Math.max(peakBytes, bytes)));
  }, SAMPLE_INTERVAL_MS);
  let url = '';
  const cpuBefore = await cpuMs(server.child);
  const uploadMs = await timed(async () => {
    url = await uploadFile(server, source, sizeBytes, digest, concurrency);
  });
  const cpuBetween = await cpuMs(server.child);
  const downloadMs = await timed(async () => {
    assert((await download(server, url)) === digest, 'the download equals the upload');
  });
  clearInterval(sampler);
  const downloadCpuMs = (await cpuMs(server.child)) - cpuBetween;
  await ask(server, 'DELETE', '/v1/storage/files?path=bench');
  const uploadCpuMs = cpuBetween - cpuBefore;
  return {
    copyMs,
    syncMs,
    uploadMs,
    downloadMs,
    uploadCpuMs,
    downloadCpuMs,
    peakBytes: peakBytes - idleBytes,
  };
}

/** Writes random bytes, which no disk or file system can compress. */
async function writeSource(path: string, sizeBytes: number): Promise<string> {
  const hash = createHash('sha256');
  const block = Buffer.allocUnsafe(Math.min(sizeBytes, 64 * MEBIBYTE));
  const file = await open(path, 'w');
  for (let written = 0; written < sizeBytes; written += block.length) {
    randomFillSync(block);
    const bytes = block.subarray(0, Math.min(block.length, sizeBytes - written));
    hash.update(bytes);
    await file.write(bytes);
  }
  await file.sync();
  await file.close();
  return hash.digest('hex');
}

async function startServer(folder: string): Promise<BenchServer> {
  const path = fileURLToPath(new URL('server.js', import.meta.url));
  const child = fork(path, { env: { ...process.env, GLOAMING_DATA: join(folder, 'data') } });
  const [address] = (await once(child, 'message')) as [StorageServer];
  return { child, ...address };
}

/** Linux only. Includes the buffers of libraries. */
async function residentBytes({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** Linux only. Source  proc(5): utime and stime are the 14th and 15th field, in hundredths of a second */
async function cpuMs({ pid }: ChildProcess): Promise<number> {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ');
  const [user, system] = fields.split(' ').slice(11, 13);
  return 10 * (Number(user) + Number(system));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function describe(
  name: string,
  { copyMs, syncMs, uploadMs, downloadMs, uploadCpuMs, downloadCpuMs, peakBytes }: Round,
  sizeBytes: number,
): string {
  const cpuSeconds = (ms: number): string => ((1e6 * ms) / sizeBytes).toFixed(2);
  const rate = (ms: number): string => `${(sizeBytes / ms / 1000).toFixed(0)} MB/s`;
  return (
    name.padEnd(9) +
    rate(copyMs).padStart(18) +
    rate(copyMs + syncMs).padStart(11) +
    rate(uploadMs).padStart(12) +
    rate(downloadMs).padStart(12) +
    `${((100 * copyMs) / uploadMs).toFixed(0)} %`.padStart(16) +
    `${(peakBytes / 1e6).toFixed(0)} MB`.padStart(20) +
    `${cpuSeconds(uploadCpuMs)}, ${cpuSeconds(downloadCpuMs)}`.padStart(20)
  );
}
