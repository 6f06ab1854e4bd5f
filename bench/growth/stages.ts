import { join } from 'node:path';
import { selectRelease } from '../../src/cli/search/select-release.js';
import { loadConfig } from '../../src/config.js';
import { openSearcher } from '../../src/searcher.js';
import { WIDE_COLUMNS } from '../../src/services/export/columns.js';
import { wideEncoder } from '../../src/services/export/text.js';
import { presentCandidate } from '../../src/services/search/present-candidates.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { encode } from '../../src/search/encode.js';
import { planSearch } from '../../src/search/plan.js';
import { rank } from '../../src/search/rank.js';
import { seal } from '../../src/search/seal.js';
import type { Compared, EncodedQuery, SearchEngine, SearchPlan } from '../../src/search/search-types.js';
import { createJudge } from '../../src/search/significance.js';
import { MOST_HITS } from './methods.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Milliseconds of processor time a query, by stage, in the order of the stages. */
export type StageTimes = ReadonlyMap<Stage, number>;

/** Stages in their order. `select` is the choice of targets in JavaScript, `rank` the order of the rescored ones. */
export const STAGES = [
  'encode',
  'look-up',
  'select',
  'reference',
  'pool',
  'rescore',
  'rank',
  'control',
  'judge',
  'seal',
  'write',
] as const;
type Stage = (typeof STAGES)[number];

/** Queries that are searched first and not counted. */
const WARM_QUERIES = 32;

/**
 * Searches the queries with the coded policy in this process, with E-values and one thread, and divides its processor
 * time among the stages. It runs the stages of `searchMany` one after another, because there they overlap.
 * Shape   queries: at least one
 * Errors  those of a search
 */
export async function stagesOf(
  path: string,
  slug: string,
  queries: readonly BenchProtein[],
): Promise<StageTimes> {
  const places = { GLOAMING_INDEXES: join(path, 'i'), GLOAMING_DATA: join(path, 'd') };
  const searcher = await openSearcher({ ...loadConfig({ ...process.env, ...places }), threads: 1 });
  try {
    const { releaseId } = selectRelease(searcher.releases, slug);
    const engine = { ...(await searcher.engines.open(releaseId)), threads: 1 };
    await searchInStages(queries.slice(0, WARM_QUERIES), engine, new StageClock());
    const clock = new StageClock();
    await searchInStages(queries, engine, clock);
    return new Map(STAGES.map((stage) => [stage, clock.milliseconds(stage) / queries.length]));
  } finally {
    await searcher.close();
  }
}

/** Charges processor time to the innermost stage at work. */
export class StageClock {
  readonly #micros = new Map<Stage, number>();
  readonly #atWork: Stage[] = [];
  readonly #now: () => number;
  #before: number;

  /** @param now  microseconds that only grow */
  constructor(now = processMicros) {
    this.#now = now;
    this.#before = now();
  }

  async in<Result>(stage: Stage, work: () => Promise<Result>): Promise<Result> {
    this.#charge();
    this.#atWork.push(stage);
    try {
      return await work();
    } finally {
      this.#charge();
      this.#atWork.pop();
    }
  }

  milliseconds(stage: Stage): number {
    return (this.#micros.get(stage) ?? 0) / 1_000;
  }

  #charge(): void {
    const now = this.#now();
    const stage = this.#atWork.at(-1);
    if (stage !== undefined) this.#micros.set(stage, (this.#micros.get(stage) ?? 0) + now - this.#before);
    this.#before = now;
  }
}

function processMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Returns the engine with kernels that charge the clock. */
function timed(engine: SearchEngine, clock: StageClock): SearchEngine {
  const { backend, codebook } = engine;
  return {
    ...engine,
    codebook: codebook && { ...codebook, hits: (...all) => clock.in('look-up', () => codebook.hits(...all)) },
    backend: {
      ...backend,
      maxsim: (...all) => clock.in('reference', () => backend.maxsim(...all)),
      sweepLists: (...all) => clock.in('pool', () => backend.sweepLists(...all)),
      measure: (...all) => clock.in('rescore', () => backend.measure(...all)),
      affineScores: (...all) => clock.in('control', () => backend.affineScores(...all)),
    },
  };
}

async function searchInStages(
  proteins: readonly BenchProtein[],
  plain: SearchEngine,
  clock: StageClock,
): Promise<void> {
  const settings = {
    targetSpace: unfilteredSpace(plain.release),
    limit: MOST_HITS,
    evidence: 'candidate_measurement',
    guarantee: 'approximate',
    relatives: 'as_release',
    significance: 'if_available',
  } as const;
  const plan = planSearch(plain, settings);
  const engine = timed(plain, clock);
  const queries = proteins.map(({ id, sequence }) => ({ id, sequence, normalizationId: '' }));
  const sequences = queries.map(({ sequence }) => sequence);
  const options = { threads: 1 };
  // A search encodes the reversed queries with the queries; here the stage of the control does so.
  const encoded = await clock.in('encode', () => encode(queries, settings, engine, {}));
  const scanned = { nearest: unused, sweep: unused };
  const work = { engine, options, optionsOf: () => options };
  const compared = await clock.in('select', () => plan.compare(encoded, scanned, work));
  const encoderOfControls: SearchEngine['encoder'] = {
    ...engine.encoder,
    encode: (...all) => clock.in('control', () => plain.encoder.encode(...all)),
  };
  const judge = createJudge(settings, sequences, { ...engine, encoder: encoderOfControls });
  const targetCount = plain.release.targets.count;
  const table = wideEncoder({ database: '', targetCount, residueCount: 0 }, WIDE_COLUMNS);
  for (const [index, query] of encoded.entries()) {
    const scored = await clock.in('select', compared[index]);
    const candidates = await clock.in('rank', () => rescored(query, scored, plan, engine));
    const { candidates: judged } = await clock.in('judge', () =>
      judge(query, candidates, scored.referenceSums, options),
    );
    const chosen = plan.choose(judged);
    const funnel = { eligible: 0, prefiltered: 0, rescored: 0, aligned: 0, listed: chosen.length };
    const result = await clock.in('seal', () =>
      seal(query, chosen, { policy: plan.policy, funnel }, settings, engine),
    );
    await clock.in('write', async () => {
      const shown = result.candidates.map((one) => presentCandidate(one, result.queryLength, engine.release));
      await table.add({ index, id: proteins[index].id, sequence: query.sequence }, shown);
    });
  }
}

async function rescored(query: EncodedQuery, compared: Compared, plan: SearchPlan, engine: SearchEngine) {
  const ranked = await rank(compared, query.tokens.length, engine.release, plan.rankedCount);
  const { candidates } = await plan.rescore(query, ranked, compared, engine, {});
  return candidates;
}

/** The coded policy does not scan the tokens of all targets. */
function unused(): never {
  throw new Error('The coded policy looks up centroid ids.');
}
