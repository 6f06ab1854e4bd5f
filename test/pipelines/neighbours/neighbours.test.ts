import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#src/config.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { openTokens } from '#src/engine/open-engine.js';
import { neighboursDirectory } from '#src/neighbours/card.js';
import { openNeighbours, type Neighbours } from '#src/neighbours/sidecar.js';
import { openPlannedEngine } from '#src/pipelines/cluster/planned-engine.js';
import { lockMeasurements } from '#src/pipelines/measure.js';
import { workFolder } from '#src/pipelines/neighbours/plan.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { lockFolder } from '#src/processes.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { searchMany } from '#src/search/search.js';
import { calibrationId } from '#src/significance/card.js';
import { readCalibrationCard } from '#src/significance/sidecar.js';
import { PROGRAM } from '../../tools/paths.js';
import { startSlurm, whyNoSlurm } from '../../tools/slurm.js';

const TIMEOUT_MS = 600_000;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-neighbours-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);
const environment = { GLOAMING_INDEXES: path('indexes'), GLOAMING_DATA: path('data') };
const options = { env: { ...process.env, ...environment }, encoding: 'utf8' } as const;
const { proteins } = simulateProteins(11, 300);

function gloaming(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], options);
}

/** Bytes of the edges by the name of their file. */
function edgesOf(directory: string): Readonly<Record<string, string>> {
  const place = neighboursDirectory(directory);
  const names = readdirSync(place).filter((name) => name.startsWith('edges'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(place, name), 'base64')]));
}

let directory: string;
let release: Release;
let neighbours: Neighbours;
let whole: Readonly<Record<string, string>>;

beforeAll(async () => {
  const fasta = path('proteins.fasta');
  writeFileSync(fasta, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
  const flags = ['--name', 'db', '--encoder', 'baseline-1', '--no-calibration'];
  const { stdout } = gloaming('index', 'build', fasta, ...flags);
  const [, releaseId] = /release +(dbr_[0-9a-f]{64})/.exec(stdout)!;
  directory = path(join('indexes', 'db', releaseId));
  expect(gloaming('index', 'neighbours', 'db').stderr).toContain('db has no qualified calibration');
  expect(existsSync(workFolder(directory).path)).toBe(false);
  expect(gloaming('index', 'calibrate', 'db', '--no-qualification').status).toBe(0);
  expect(gloaming('index', 'neighbours', 'db').stdout).toContain('Found neighbours in db.');
  release = await openRelease(directory);
  const id = calibrationId((await readCalibrationCard(directory))!);
  neighbours = (await openNeighbours(release, id))!;
  whole = edgesOf(directory);
}, TIMEOUT_MS);

describe('the graph of neighbours', { timeout: TIMEOUT_MS }, () => {
  it('has for each protein the best hits of a search with its sequence, but not itself', async () => {
    const { card, graph } = neighbours;
    expect(card.counts).toEqual({
      targets: 300,
      edges: graph.targets.length,
      isolated: [...graph.offsets.keys()].filter(
        (at) => at < 300 && graph.offsets[at] === graph.offsets[at + 1],
      ).length,
    });
    expect(card.processor_seconds).toBeGreaterThan(0);
    const evidence = { calibrationId: card.calibration_id, qualificationId: null };
    const planned = await openPlannedEngine(
      { release: { directory, id: release.id }, ...evidence },
      config(),
    );
    const engine = { ...planned.engine, store: await openTokens(release, planned.engine.backend) };
    const queries = [0, 57, 113, 299];
    const results = await searchMany(
      queries.map((target) => ({ sequence: release.targets.sequence(target), normalizationId: '' })),
      {
        targetSpace: unfilteredSpace(release),
        limit: 300,
        evidence: 'pairwise_sequence_alignment',
        guarantee: 'exhaustive',
        significance: 'required',
      },
      engine,
    );
    let edgeCount = 0;
    for (const [at, query] of queries.entries()) {
      const expected = results[at].candidates
        .flatMap(({ targetIndex, affine, alignment, significance }) => {
          if (significance.kind !== 'supported' || significance.eValue > 10 || targetIndex === query)
            return [];
          const { queryStart, queryEnd, targetStart, targetEnd } = alignment!;
          const place = [queryStart, queryEnd, targetStart, targetEnd];
          return [[significance.logEValue, targetIndex, affine.rawScore, ...place]];
        })
        .sort((a, b) => a[0] - b[0] || a[1] - b[1])
        .slice(0, 100);
      expect(rowOf(neighbours, query)).toEqual(expected);
      edgeCount += expected.length;
    }
    // A row without any neighbour shows nothing.
    expect(edgeCount).toBeGreaterThan(10);
    engine.store.close();
    await planned.close();
  });

  it('is not computed twice, but computed anew where it was damaged', () => {
    expect(gloaming('index', 'neighbours', 'db').stdout).toContain('has its neighbours already');
    const [name] = Object.keys(whole);
    rmSync(join(neighboursDirectory(directory), name));
    expect(gloaming('index', 'neighbours', 'db').stdout).toContain('Found neighbours in db.');
    expect(edgesOf(directory)).toEqual(whole);
  });

  it('has the same bytes after a kill, and repeats only unfinished packs', async () => {
    rmSync(neighboursDirectory(directory), { recursive: true });
    const folderOfWork = workFolder(directory);
    const child = spawn(process.execPath, [PROGRAM, 'index', 'neighbours', 'db'], {
      env: options.env,
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    while (!existsSync(folderOfWork.mark(0)) && child.exitCode === null) await setTimeout(5);
    child.kill('SIGKILL');
    await ended;
    expect(child.signalCode).toBe('SIGKILL');
    const unlock = await lockFolder(folderOfWork.path, 'The neighbours of db are being found');
    expect(gloaming('index', 'neighbours', 'db').stderr).toContain(
      `The neighbours of db are being found by process ${process.pid}; wait until it is done.`,
    );
    await unlock();
    const unlockAll = await lockMeasurements({ slug: 'db', id: release.id, directory });
    expect(gloaming('index', 'neighbours', 'db').stderr).toContain(
      `is being searched for the neighbours of its proteins by process ${process.pid}; wait until it is done.`,
    );
    await unlockAll();
    expect(gloaming('index', 'neighbours', 'db', '--shards', '2').stdout).toContain('sbatch --array=1 ');
    expect(gloaming('index', 'neighbours', 'db').stdout).toContain('Found neighbours in db.');
    expect(edgesOf(directory)).toEqual(whole);
    expect(existsSync(folderOfWork.path)).toBe(false);
  });

  it('may be computed by shards, some of them lost and some doubled', () => {
    rmSync(neighboursDirectory(directory), { recursive: true });
    const divide = () => gloaming('index', 'neighbours', 'db', '--shards', '2');
    const [, tasks, script] = /sbatch --array=(\S+) (\S+)/.exec(divide().stdout)!;
    expect(tasks).toBe('0-1');
    const run = (task: number) =>
      spawnSync('bash', [script], {
        ...options,
        env: { ...options.env, SLURM_ARRAY_TASK_ID: String(task) },
      });
    expect([run(1), run(1), run(2)].map(({ status }) => status)).toEqual([0, 0, 2]);
    expect(divide().stdout).toContain(`sbatch --array=0 ${script}`);
    expect(run(0).stdout).toBe('Shard 0: 1 parts done.\n');
    expect(divide().stdout).toContain('Found neighbours in db.');
    expect(edgesOf(directory)).toEqual(whole);
    const late = gloaming('index', 'neighbours-shard', workFolder(directory).path, '2', '0');
    expect(late.stderr).toContain('There is no unfinished graph');
  });

  it.skipIf(whyNoSlurm !== undefined)(
    `is computed by tasks of Slurm's own daemons (${whyNoSlurm ?? 'they run here'})`,
    async () => {
      rmSync(neighboursDirectory(directory), { recursive: true });
      const slurm = await startSlurm(path('slurm'), 2);
      try {
        const words = ['index', 'neighbours', 'db', '--slurm', 'partition=main,array=2'];
        const env = { ...options.env, ...slurm.environment };
        const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], { ...options, env });
        expect(stdout + stderr).toMatch(/Job \d+: 2 tasks\./);
        expect(stdout).toContain('Found neighbours in db.');
        expect(edgesOf(directory)).toEqual(whole);
      } finally {
        await slurm.stop();
      }
    },
  );

  it('refuses a pack that was damaged after it was finished', () => {
    rmSync(neighboursDirectory(directory), { recursive: true });
    const divide = () => gloaming('index', 'neighbours', 'db', '--shards', '1');
    const [, script] = /sbatch --array=0 (\S+)/.exec(divide().stdout)!;
    spawnSync('bash', [script], { ...options, env: { ...options.env, SLURM_ARRAY_TASK_ID: '0' } });
    const work = workFolder(directory);
    const { edges } = JSON.parse(readFileSync(work.mark(1), 'utf8')) as { readonly edges: { path: string } };
    const bytes = readFileSync(join(work.path, edges.path));
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(join(work.path, edges.path), bytes);
    expect(divide().stderr).toContain(`is damaged; remove ${work.mark(1)}`);
    rmSync(work.mark(1));
    expect(gloaming('index', 'neighbours', 'db').stdout).toContain('Found neighbours in db.');
    expect(edgesOf(directory)).toEqual(whole);
  });

  it('is exported as lines, as Parquet, for mcl, and as GraphML', () => {
    const counts: Record<string, number> = {};
    const exported = (format: string): string[] => {
      const file = path(`edges.${format}`);
      const { stdout } = gloaming('index', 'neighbours', 'db', '--export', file, '--format', format);
      counts[format] = Number(/^Wrote ([\d,]+) pairs to /m.exec(stdout)![1]!.replaceAll(',', ''));
      return readFileSync(file, 'utf8').trimEnd().split('\n');
    };
    const { graph, card } = neighbours;
    const [head, ...rows] = exported('tsv').map((line) => line.split('\t'));
    expect(head.slice(0, 4)).toEqual(['query_id', 'target_id', 'e_value', 'log_e_value']);
    expect(rows).toHaveLength(card.counts.edges);
    expect(rows.map(([, target]) => target)).toEqual(
      [...graph.targets].map((target) => release.targets.id(target)),
    );
    expect(rows.map((row) => Number(row[3]))).toEqual([...graph.logEValues]);
    expect(rows.map((row) => Number(row[8]))).toEqual([...graph.targetEnds]);
    const weights = exported('abc').map((line) => Number(line.split('\t')[2]));
    expect(weights).toEqual(
      [...graph.logEValues]
        .map((log) => Number((-log / Math.LN10).toFixed(3)))
        .filter((weight) => weight > 0),
    );
    expect(exported('parquet')[0].slice(0, 4)).toBe('PAR1');
    const xml = exported('graphml');
    expect(xml.filter((line) => line.startsWith('<node '))).toHaveLength(300);
    expect(xml.filter((line) => line.startsWith('<edge '))).toHaveLength(card.counts.edges);
    expect(xml.at(-1)).toBe('</graphml>');
    const { edges } = card.counts;
    expect(weights.length).toBeLessThan(edges);
    expect(counts).toEqual({ tsv: edges, abc: weights.length, parquet: edges, graphml: edges });
  });

  it('is verified with its release, and removed with it', () => {
    const { edges } = neighbours.card;
    const file = join(neighboursDirectory(directory), edges.path);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(1));
    expect(gloaming('index', 'verify', 'db').stdout).toContain(`neighbours: ${edges.path} was changed`);
    writeFileSync(file, bytes);
    expect(gloaming('index', 'verify', 'db').stdout).toContain('intact');
    expect(gloaming('index', 'remove', 'db', '--yes').status).toBe(0);
    expect(existsSync(neighboursDirectory(directory))).toBe(false);
  });
});

type Config = ReturnType<typeof loadConfig>;
const config = (): Config => loadConfig(environment);

/** The edges of a target: log E-value, neighbour, score, and the coordinates on query and target. */
function rowOf({ graph }: Neighbours, query: number): number[][] {
  const edges = Array.from(
    { length: graph.offsets[query + 1] - graph.offsets[query] },
    (_, at) => graph.offsets[query] + at,
  );
  return edges.map((edge) => [
    graph.logEValues[edge],
    graph.targets[edge],
    graph.affineScores[edge],
    graph.queryStarts[edge],
    graph.queryEnds[edge],
    graph.targetStarts[edge],
    graph.targetEnds[edge],
  ]);
}
