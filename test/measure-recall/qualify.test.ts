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
import { recallOf } from '#src/measure-recall/recall.js';
import { seededRandom } from '#src/random.js';
import { openRelease } from '#src/release/open.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { contextEncoder, makeHomologs, NO_RELATIVES } from '../tools/relatives.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-qualify-'));
let engine: SearchEngine;

beforeAll(async () => {
  engine = await engineOf(200);
});
afterAll(() => {
  engine.store.close();
  rmSync(folder, { recursive: true });
});

async function engineOf(homologSets: number): Promise<SearchEngine> {
  const { write } = makeHomologs(seededRandom(7), { homologSets, members: 10 });
  const release = await openRelease(await write(folder));
  const backend = nativeBackend();
  return { release, encoder: contextEncoder(), backend, store: await backend.open(release.tokens) };
}

const openedAs = (calibrationId?: string) =>
  openQualification(engine.release.directory, { releaseId: engine.release.id, calibrationId });

describe('qualifying a release', () => {
  it('writes equal cards for equal seeds, and offers the policy if its recall is enough', async () => {
    const measure = async (seed?: number) => (await qualifyRelease({ engine, queryCount: 12, seed })).card;
    const card = await measure();
    expect(qualificationId(await measure())).toBe(qualificationId(card));
    expect(qualificationId(await measure(2))).not.toBe(qualificationId(card));
    await measure();
    expect(card.recalls.nearest_10).toMatchObject({ query_count: 12, wanted_count: 120 });
    expect(card.recalls.nearest_100.wanted_count).toBe(1_200);
    // Nine homologs are near. The tenth is one of many unrelated proteins at similar distances.
    expect(card.recalls.nearest_10.mean).toBeGreaterThan(0.9);
    expect(card.recalls.evident).toBeNull();
    expect(card.strata).toHaveLength(4);
    expect((await openedAs()) !== undefined).toBe(isQualifiedPolicy(card));
  });

  it('uses the stored tokens and profiles of the queries, and encodes nothing', async () => {
    const { release } = engine;
    const encode = () => Promise.reject(new Error('there is nothing to encode'));
    const together = {
      ...engine,
      encoder: { ...engine.encoder, encode },
      release: { ...release, manifest: { ...release.manifest, relatives: NO_RELATIVES } },
    };
    const { card } = await qualifyRelease({ engine, queryCount: 8 });
    expect((await qualifyRelease({ engine: together, queryCount: 8 })).card).toEqual(card);
  });

  it('is refused if the release is too small for the policy to save time', async () => {
    const small = await engineOf(10);
    const refused = qualifyRelease({ engine: small, queryCount: 4 });
    await expect(refused).rejects.toThrow(Refusal);
    await expect(refused).rejects.toMatchObject({ code: 'qualification_impossible' });
    small.store.close();
  });

  it('needs a larger release for the coded policy, whose prefilter passes a share of it', async () => {
    const small = await engineOf(190);
    const refused = qualifyRelease({ engine: small, policy: 'coded', queryCount: 4 });
    await expect(refused).rejects.toMatchObject({ code: 'qualification_impossible' });
    await expect(refused).rejects.toThrow('from 2000 on');
    small.store.close();
  });

  it('has lower required recalls for the coded policy, and takes the fewest candidates that reach them', async () => {
    const { card } = await qualifyRelease({ engine, policy: 'coded', queryCount: 4 });
    expect(card).toMatchObject({ required_recall: 0.9, required_evident_recall: 0.75 });
    expect(card.tried.map(({ nearest_count: nearest, striking_count: local }) => [nearest, local])).toEqual([
      [100, 50],
      [100, 100],
    ]);
    const first = card.tried.find(({ nearest_10: ten }) => ten.mean >= 0.9) ?? card.tried.at(-1)!;
    expect(card.policy).toEqual(codebookDefinition(first.nearest_count, first.striking_count));
    expect(card.recalls.nearest_10).toEqual(first.nearest_10);
  });

  it('stops when its signal is aborted', async () => {
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
    aligned_target_count: 2_000,
    recalls: { nearest_10: recall, nearest_100: recall, evident: null },
    strata: [],
    tried: [],
    required_recall: 0.99,
  });
  const opened = async (card: PolicyCard, calibrationId?: string) => {
    await writePolicyCard(engine.release.directory, card);
    return openedAs(calibrationId);
  };

  it('offers its policy under its own id', async () => {
    const card = good();
    expect(await opened(card)).toEqual({ id: qualificationId(card), card });
  });

  it('stays if a new card of the other kind does not qualify', async () => {
    const sampled = good();
    const definition = codebookDefinition(200, 100);
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
    // A new measurement of the same kind, a qualified card, and a card without a stored one.
    const again = failing(sampled);
    expect(cardToStore(again, sampled)).toBe(again);
    expect(cardToStore(coded, sampled)).toBe(coded);
    expect(cardToStore(again, undefined)).toBe(again);
    const { directory } = engine.release;
    await writePolicyCard(directory, coded);
    const { card, kept } = await qualifyRelease({ engine, queryCount: 4 });
    expect(kept).toEqual(isQualifiedPolicy(card) ? card : coded);
    expect(await readPolicyCard(directory)).toEqual(kept);
  });

  it('offers nothing if any recall is below the required one', async () => {
    const low = { ...recall, mean: 0.98 };
    for (const name of ['nearest_10', 'nearest_100', 'evident'] as const) {
      const card = { ...good(), recalls: { ...good().recalls, [name]: low } };
      expect(await opened(card), name).toBeUndefined();
    }
  });

  it('of the coded policy has a lower required recall, and another one for evident homologs', async () => {
    const definition = codebookDefinition(200, 100);
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
    // Without a required evident recall, the general one applies to evident homologs, too.
    const { required_evident_recall: own, ...before } = measured(0.95, 0.9, 0.8);
    expect(own).toBe(0.75);
    expect(isQualifiedPolicy(before)).toBe(false);
    const sampled = { ...good(), recalls: { ...good().recalls, evident: { ...recall, mean: 0.98 } } };
    expect(isQualifiedPolicy(sampled)).toBe(false);
  });

  it('describes the loss of its policy as text', () => {
    const of = (mean: number) => ({ ...recall, mean });
    const recalls = { nearest_10: of(1), nearest_100: of(0.9997), evident: of(0.7836) };
    expect(lossesOf(recalls, good())).toBe(
      'misses none of the 10 nearest, less than 0.1 % of the 100 nearest and 21.6 % of all with E <= 0.001',
    );
    expect(lossesOf({ ...recalls, nearest_10: of(0.955), evident: null }, good())).toBe(
      'misses 4.5 % of the 10 nearest and less than 0.1 % of the 100 nearest; E-values were not measured',
    );
  });

  it('offers nothing with another calibration, or for another version of the policy', async () => {
    expect(await opened(good(), 'calib_other')).toBeUndefined();
    expect(await opened({ ...good(), calibration_id: 'calib_own' }, 'calib_own')).toBeDefined();
    expect(await opened({ ...good(), policy_id: 'pol_old' })).toBeUndefined();
  });

  it('is a fault if it was changed, or is of another release or format', async () => {
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
  it('is the mean over queries with relevant targets, and has an interval even if all were retrieved', () => {
    const all = recallOf([
      { relevantCount: 4, retrievedCount: 4 },
      { relevantCount: 1, retrievedCount: 1 },
      { relevantCount: 0, retrievedCount: 0 },
    ]);
    expect(all).toMatchObject({ query_count: 2, wanted_count: 5, found_count: 5, mean: 1, high: 1 });
    // Wilson's interval for two successes in two trials.
    expect(all.low).toBeCloseTo(0.342, 3);
    const half = recallOf([
      { relevantCount: 10, retrievedCount: 10 },
      { relevantCount: 2, retrievedCount: 0 },
    ]);
    expect(half).toMatchObject({ mean: 0.5, found_count: 10 });
    expect(half.low).toBeLessThan(0.1);
    expect(half.high).toBeGreaterThan(0.9);
    expect(recallOf([])).toMatchObject({ mean: 1, low: 0, high: 1 });
  });

  it('has a narrower interval with more queries', () => {
    const queries = Array.from({ length: 200 }, (_, at) => ({
      relevantCount: 10,
      retrievedCount: at % 20 === 0 ? 8 : 10,
    }));
    const { mean, low, high } = recallOf(queries);
    expect(mean).toBeCloseTo(0.99);
    expect(low).toBeGreaterThan(0.98);
    expect(high).toBeLessThan(0.997);
  });
});
