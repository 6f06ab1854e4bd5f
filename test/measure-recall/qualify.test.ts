import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrationDirectory } from '#src/significance/card.js';
import {
  POLICY_FILE,
  cardToStore,
  codebookDefinition,
  isQualifiedPolicy,
  lossesOf,
  policyDefinition,
  policyId,
  qualificationId,
  type PolicyCard,
} from '#src/recall/policy-card.js';
import { openQualification, readPolicyCard, writePolicyCard } from '#src/recall/policy-sidecar.js';
import { verifyEvidence } from '#src/recall/evidence.js';
import { Fault, Refusal } from '#src/errors.js';
import { nativeBackend } from '#src/kernels/native.js';
import { qualifyRelease } from '#src/measure-recall/qualify.js';
import { comparedCount, comparedTargets } from '#src/measure-recall/compared-targets.js';
import type { QualifyProgress } from '#src/measure-recall/options.js';
import { recallOf } from '#src/measure-recall/recall.js';
import { seededRandom } from '#src/random.js';
import { openRelease } from '#src/release/open.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { contextEncoder, makeHomologs, NO_HOMOLOGS } from '../tools/homologs.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-qualify-'));
let engine: SearchEngine;

beforeAll(async () => {
  engine = await engineOf({ homologSets: 200, members: 10 });
});
afterAll(() => {
  engine.store.close();
  rmSync(folder, { recursive: true });
});

/** @param sets number of homolog sets, and of proteins in each */
async function engineOf(sets: Parameters<typeof makeHomologs>[1]): Promise<SearchEngine> {
  const { write } = makeHomologs(seededRandom(7), sets);
  const release = await openRelease(await write(folder));
  const backend = nativeBackend();
  return { release, encoder: contextEncoder(), backend, store: await backend.open(release.tokens) };
}

const openedAs = (calibrationId?: string, { release } = engine) =>
  openQualification(release.directory, { releaseId: release.id, calibrationId });

describe('qualifyRelease', () => {
  it('measures the same card again with the same seed, and another card with another seed', async () => {
    const measure = async (seed?: number) => (await qualifyRelease({ engine, queryCount: 12, seed })).card;
    const card = await measure();
    expect(qualificationId(await measure())).toBe(qualificationId(card));
    expect(qualificationId(await measure(2))).not.toBe(qualificationId(card));
    await measure();
    expect(card.recalls.nearest_10).toMatchObject({ query_count: 12, wanted_count: 120 });
    expect(card.recalls.nearest_100.wanted_count).toBe(1_200);
    // Nine homologs are near. The tenth target is one of many at the same distance.
    expect(card.recalls.nearest_10.mean).toBeGreaterThan(0.9);
    expect(card.recalls.evident).toBeNull();
    expect(card.strata).toHaveLength(4);
  });

  it('offers a policy that finds the nearest targets', async () => {
    const { card } = await qualifyRelease({ engine, queryCount: 12 });
    expect(card.recalls.nearest_10.mean).toBeGreaterThanOrEqual(card.required_recall);
    expect(await openedAs()).toEqual({ id: qualificationId(card), card });
  });

  it('withholds a policy that misses some of the 100 nearest targets', async () => {
    const strangers = await engineOf({ homologSets: 2_000, members: 1 });
    const { card } = await qualifyRelease({ engine: strangers, queryCount: 12 });
    expect(card.recalls.nearest_100.mean).toBeLessThan(card.required_recall);
    expect(await readPolicyCard(strangers.release.directory)).toEqual(card);
    expect(await openedAs(undefined, strangers)).toBeUndefined();
    strangers.store.close();
  });

  it('uses stored tokens of the release as queries, homologs included, and encodes nothing', async () => {
    const { release } = engine;
    const encode = () => Promise.reject(new Error('there is nothing to encode'));
    const together = {
      ...engine,
      encoder: { ...engine.encoder, encode },
      release: { ...release, manifest: { ...release.manifest, relatives: NO_HOMOLOGS } },
    };
    const { card } = await qualifyRelease({ engine, queryCount: 8 });
    expect((await qualifyRelease({ engine: together, queryCount: 8 })).card).toEqual(card);
  });

  it('refuses a release of too few targets to save time', async () => {
    const small = await engineOf({ homologSets: 10, members: 10 });
    const refused = qualifyRelease({ engine: small, queryCount: 4 });
    await expect(refused).rejects.toThrow(Refusal);
    await expect(refused).rejects.toMatchObject({ code: 'qualification_impossible' });
    small.store.close();
  });

  it('refuses the codebook prefilter for a release of fewer than 2,000 targets', async () => {
    const small = await engineOf({ homologSets: 190, members: 10 });
    const refused = qualifyRelease({ engine: small, policy: 'coded', queryCount: 4 });
    await expect(refused).rejects.toMatchObject({ code: 'qualification_impossible' });
    await expect(refused).rejects.toThrow('from 2000 on');
    small.store.close();
  });

  it('takes the cheapest codebook policy with the wanted recall, or with nearly the best one', async () => {
    const { card } = await qualifyRelease({ engine, policy: 'coded', queryCount: 4 });
    expect(card).toMatchObject({ required_recall: 0.9, required_evident_recall: 0.75 });
    expect(
      card.tried.map(({ nearest_count: nearest, striking_count: local, pool_count: pool }) => [
        nearest,
        local,
        pool,
      ]),
    ).toEqual([300, 450, 600].map((pool) => [128, 0, pool]));
    const means = card.tried.map(({ nearest_10: ten }) => ten.mean);
    const least = Math.min(0.95, Math.max(...means) - 0.01);
    const first = card.tried[means.findIndex((mean) => mean >= least)]!;
    expect(card.policy).toEqual(
      codebookDefinition(first.nearest_count, first.striking_count, first.pool_count),
    );
    expect(card.recalls.nearest_10).toEqual(first.nearest_10);
    expect(Math.min(...means), 'each pool has the homologs').toBeGreaterThanOrEqual(0.8);
  });

  it('compares each query with 7,200 of 9,000 targets, and finds the homologs among them', async () => {
    const large = await engineOf({ homologSets: 900, members: 10 });
    const { card } = await qualifyRelease({ engine: large, queryCount: 4 });
    expect(card.compared_target_count).toBe(7_200);
    expect(card.recalls.nearest_10.mean).toBeGreaterThan(0.9);
    expect((await qualifyRelease({ engine, queryCount: 4 })).card.compared_target_count).toBe(1_999);
    large.store.close();
  });

  it('reports the residues of the codebook, then the queries', async () => {
    const seen: QualifyProgress[] = [];
    await qualifyRelease({
      engine,
      policy: 'coded',
      queryCount: 4,
      onProgress: (progress) => seen.push(progress),
    });
    const residues = engine.release.tokens.residueStarts.at(-1);
    expect(seen.map(({ stage, done, total }) => [stage, done, total])).toEqual([
      ...[0, 65_536, 131_072, residues].map((done) => ['codebook', done, residues]),
      ['qualify', 0, 4],
      ['qualify', 4, 4],
    ]);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(qualifyRelease({ engine, queryCount: 4, signal })).rejects.toThrow('enough');
  });
});

describe('a policy card', () => {
  const recall = { query_count: 1, wanted_count: 1, found_count: 1, mean: 1, low: 0.2, high: 1 };
  const policy = policyDefinition(500, 125);
  const file = { path: `words-${'0'.repeat(64)}.bin`, size_bytes: 1, sha256: '0'.repeat(64) };
  const good = (): PolicyCard => ({
    format: 'gloaming-policy/1',
    release_id: engine.release.id,
    calibration_id: null,
    policy_id: policyId(policy),
    policy,
    seed: 1,
    evident_expected_false_hits: 1e-3,
    compared_target_count: 2_000,
    recalls: { nearest_10: recall, nearest_100: recall, evident: null },
    strata: [],
    tried: [],
    required_recall: 0.99,
  });
  const opened = async (card: PolicyCard, calibrationId?: string) => {
    await writePolicyCard(engine.release.directory, card);
    return openedAs(calibrationId);
  };

  it('offers its policy under the id of the qualification', async () => {
    const card = good();
    expect(await opened(card)).toEqual({ id: qualificationId(card), card });
  });

  it('does not offer a policy of an earlier version of the codebook prefilter', async () => {
    const { pool_count: _, ...earlier } = codebookDefinition(100, 50, 600);
    const policy = { ...earlier, sampling_id: 'codes_4096x16_of_rows_128_then_rows_32/3', pool_share: 0.05 };
    const names = { words: file, codes: { ...file, path: file.path.replace('words', 'codes') } };
    const card = { ...good(), policy, policy_id: policyId(policy), codes: names };
    expect(await opened(card)).toBeUndefined();
    expect(await readPolicyCard(engine.release.directory)).toEqual(card);
  });

  it('is stored in place of a card of the other prefilter only if its own policy is good enough', async () => {
    const sampled = good();
    const definition = codebookDefinition(200, 100, 600);
    const coded: PolicyCard = {
      ...good(),
      policy: definition,
      policy_id: policyId(definition),
      codes: { words: file, codes: file },
    };
    const failing = (card: PolicyCard): PolicyCard => ({
      ...card,
      recalls: { ...card.recalls, nearest_10: { ...recall, mean: 0.5 } },
    });
    expect(cardToStore(failing(coded), sampled)).toBe(sampled);
    expect(cardToStore(failing(sampled), coded)).toBe(coded);
    // A new measurement of the same policy, a policy that is good enough, and the first card of a release.
    const again = failing(sampled);
    expect(cardToStore(again, sampled)).toBe(again);
    expect(cardToStore(coded, sampled)).toBe(coded);
    expect(cardToStore(again, undefined)).toBe(again);
    const { directory } = engine.release;
    await writePolicyCard(directory, coded);
    const { card, stored } = await qualifyRelease({ engine, queryCount: 4 });
    expect(stored).toEqual(isQualifiedPolicy(card) ? card : coded);
    expect(await readPolicyCard(directory)).toEqual(stored);
  });

  it('withholds its policy if any of its recalls is below the required recall', async () => {
    const low = { ...recall, mean: 0.98 };
    for (const name of ['nearest_10', 'nearest_100', 'evident'] as const) {
      const card = { ...good(), recalls: { ...good().recalls, [name]: low } };
      expect(await opened(card), name).toBeUndefined();
    }
  });

  it('of the codebook prefilter requires less recall, and a recall of its own for targets with E ≤ 0.001', async () => {
    const definition = codebookDefinition(200, 100, 600);
    const measured = (ten: number, hundred: number, evident: number): PolicyCard => ({
      ...good(),
      policy: definition,
      policy_id: policyId(definition),
      codes: { words: file, codes: file },
      required_recall: 0.9,
      required_evident_recall: 0.75,
      recalls: {
        nearest_10: { ...recall, mean: ten },
        nearest_100: { ...recall, mean: hundred },
        evident: { ...recall, mean: evident },
      },
    });
    expect(await opened(measured(0.9, 0.1, 0.75))).toBeDefined();
    expect(await opened(measured(0.89, 1, 1))).toBeUndefined();
    expect(await opened(measured(1, 1, 0.74))).toBeUndefined();
    // A card with one required recall applies it to targets with E ≤ 0.001, too.
    const { required_evident_recall: own, ...before } = measured(0.95, 0.9, 0.8);
    expect(own).toBe(0.75);
    expect(isQualifiedPolicy(before)).toBe(false);
    const sampled = { ...good(), recalls: { ...good().recalls, evident: { ...recall, mean: 0.98 } } };
    expect(isQualifiedPolicy(sampled)).toBe(false);
  });

  it('states the share of targets that its policy misses', () => {
    const of = (mean: number) => ({ ...recall, mean });
    const recalls = { nearest_10: of(1), nearest_100: of(0.9997), evident: of(0.7836) };
    expect(lossesOf(recalls, good())).toBe(
      'misses none of the 10 nearest, less than 0.1 % of the 100 nearest and 21.6 % of all with E <= 0.001',
    );
    expect(lossesOf({ ...recalls, nearest_10: of(0.955), evident: null }, good())).toBe(
      'misses 4.5 % of the 10 nearest and less than 0.1 % of the 100 nearest; E-values were not measured',
    );
  });

  it('withholds its policy beside another calibration or under another policy id', async () => {
    expect(await opened(good(), 'calib_other')).toBeUndefined();
    expect(await opened({ ...good(), calibration_id: 'calib_own' }, 'calib_own')).toBeDefined();
    expect(await opened({ ...good(), policy_id: 'pol_old' })).toBeUndefined();
  });

  it('is a fault if its file was changed, names another release or has another format', async () => {
    const path = join(calibrationDirectory(engine.release.directory), POLICY_FILE);
    await writePolicyCard(engine.release.directory, good());
    const text = readFileSync(path, 'utf8');
    for (const changed of [
      text.replace('0.99', '0.98 '),
      text.slice(1),
      text.replace('policy/1', 'policy/9'),
    ]) {
      writeFileSync(path, changed);
      await expect(openedAs()).rejects.toThrow(Fault);
      expect(await verifyEvidence(engine.release.directory)).toHaveLength(1);
    }
    writeFileSync(path, text);
    expect(await verifyEvidence(engine.release.directory)).toEqual([]);
    await expect(opened({ ...good(), release_id: 'dbr_other' })).rejects.toThrow(Fault);
  });
});

describe('a recall', () => {
  const weighted = (isRetrieved: boolean, count: number, weight = 1) =>
    Array.from({ length: count }, () => ({ isRetrieved, weight }));
  const query = (found: number, missed: number) => [...weighted(true, found), ...weighted(false, missed)];

  it('is the mean over queries with targets to find, with an interval below 1 even if all are found', () => {
    const all = recallOf([query(4, 0), query(1, 0), []]);
    expect(all).toMatchObject({ query_count: 2, wanted_count: 5, found_count: 5, mean: 1, high: 1 });
    // Wilson's interval of two successes in two trials.
    expect(all.low).toBeCloseTo(0.342, 3);
    const half = recallOf([query(10, 0), query(0, 2)]);
    expect(half).toMatchObject({ mean: 0.5, found_count: 10 });
    expect(half.low).toBeLessThan(0.1);
    expect(half.high).toBeGreaterThan(0.9);
    expect(recallOf([])).toMatchObject({ mean: 1, low: 0, high: 1 });
  });

  it('has a narrower interval with more queries', () => {
    const queries = Array.from({ length: 200 }, (_, at) => (at % 20 === 0 ? query(8, 2) : query(10, 0)));
    const { mean, low, high } = recallOf(queries);
    expect(mean).toBeCloseTo(0.99);
    expect(low).toBeGreaterThan(0.98);
    expect(high).toBeLessThan(0.997);
  });

  it('counts a missed target as often as it stands for, on average as much as if all were compared', () => {
    // Each query has three near targets that are found and two remote ones that are missed: a recall of .6.
    const random = seededRandom(3);
    const queries = Array.from({ length: 4_000 }, () => {
      const drawn = Array.from({ length: 2 }, () => random.below(10)).filter((draw) => draw === 0);
      return [...weighted(true, 3), ...weighted(false, drawn.length, 10)];
    });
    const { mean, low, high } = recallOf(queries);
    expect(mean).toBeGreaterThan(0.45);
    expect(mean, 'not above the recall of all targets').toBeLessThan(0.62);
    expect(high - low, 'rare draws leave the recall less certain').toBeGreaterThan(
      4 * (recallOf(Array.from({ length: 4_000 }, () => query(3, 2))).high - 0.6),
    );
  });

  it('is 0 if more is missed than was seen', () => {
    expect(recallOf([[...weighted(true, 1), ...weighted(false, 1, 50)]])).toMatchObject({ mean: 0, low: 0 });
  });
});

describe('the targets that a query is compared with', () => {
  const order = (count: number) => Uint32Array.from({ length: count }, (_, at) => count - at);

  it('are all targets up to 7,200', () => {
    const { targets, weights } = comparedTargets(order(7_200), seededRandom(1));
    expect(targets).toEqual(order(7_200).sort());
    expect(new Set(weights.values())).toEqual(new Set([1]));
  });

  it('are as many as the count of them says', () => {
    for (const count of [0, 1, 4_800, 4_801, 7_199, 7_201, 9_601, 20_000, 400_000])
      expect(comparedTargets(order(count), seededRandom(1)).targets, `${count}`).toHaveLength(
        comparedCount(count),
      );
  });

  it('are those of the best ranks, and as many of each doubling of the rank', () => {
    const { targets, weights } = comparedTargets(order(60_000), seededRandom(1));
    expect(targets).toEqual(targets.slice().sort());
    const ranked = Array.from(targets, (target) => ({ rank: 60_000 - target, weight: weights.get(target) }));
    const within = (from: number, to: number) => ranked.filter(({ rank }) => rank >= from && rank < to);
    expect(within(0, 4_800)).toHaveLength(4_800);
    for (const [from, to] of [
      [4_800, 9_600],
      [9_600, 19_200],
      [19_200, 38_400],
      [38_400, 60_000],
    ] as const) {
      const part = within(from, to);
      expect(part).toHaveLength(2_400);
      expect(new Set(part.map(({ weight }) => weight))).toEqual(new Set([(to - from) / 2_400]));
    }
  });
});
