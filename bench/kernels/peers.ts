import { execFile } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import type { PeerFigures } from './peer.js';

const execute = promisify(execFile);
const PAIRS = 2_000;
const PROTEINS = 3_000;

/** Output of kernels/test/oracles.cpp and peers.cpp; only `skipped` if they cannot run. */
export interface NativePeers {
  readonly skipped?: string;
  readonly oracles?: Oracles;
  readonly affine?: {
    readonly blosum_gcups: number;
    /** Name of parasail's fastest variant. */
    readonly parasail: string;
    readonly parasail_gcups: number;
    /** Our cells per second ÷ parasail's. */
    readonly parasail_ratio: number;
    readonly ssw_gcups: number;
  };
  readonly maxsim?: { readonly peers: Readonly<Record<string, PeerFigures>> };
}

/** Numbers of pairs whose affine scores equal those of each program. */
interface Oracles {
  readonly parasail_pairs: number;
  readonly ssw_pairs: number;
  /** 0 if EMBOSS is not installed. */
  readonly water_pairs: number;
  /** Score of one pair by parasail. It exceeds 16 bits. */
  readonly giant_score: number;
}

/** Builds and runs the comparisons with parasail, SSW, water and OpenBLAS, if Debian's packages are installed. */
export async function runNativePeers(): Promise<NativePeers> {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
  const shared = process.env.GLOAMING_SHARED ?? join(root, '..', 'shared');
  const proteins = join(shared, 'data', 'uniprot-sample.fasta.gz');
  if (!existsSync(proteins)) return { skipped: `no real proteins at ${proteins}` };
  const build = join(root, 'build', 'kernels-peers');
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-kernels-'));
  try {
    await execute('cmake', ['-S', join(root, 'kernels'), '-B', build, '-DGLOAMING_PEERS=ON']);
    await execute('cmake', ['--build', build, '--target', 'kernels-oracles', 'kernels-peers']);
    const fasta = join(folder, 'proteins.fasta');
    await writeFile(fasta, await readRecords(proteins, PROTEINS));
    const seed = String(Date.now());
    const oracles = await execute(join(build, 'kernels-oracles'), [String(PAIRS), seed, fasta]);
    const peers = await execute(join(build, 'kernels-peers'), [fasta]);
    return { ...(JSON.parse(peers.stdout) as NativePeers), oracles: JSON.parse(oracles.stdout) as Oracles };
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    const isMissing =
      /parasail|ssw|openblas|cblas/.test(stderr ?? '') && /No such file|cannot find/.test(stderr ?? '');
    if (!isMissing) throw error;
    return { skipped: 'libparasail-dev, libssw-dev and libopenblas-dev are not all installed' };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readRecords(path: string, count: number): Promise<string> {
  const lines: string[] = [];
  let seen = 0;
  for await (const line of createInterface({ input: createReadStream(path).pipe(createGunzip()) })) {
    if (line.startsWith('>')) seen++;
    if (seen > count) break;
    lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}
