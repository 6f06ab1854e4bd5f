// @module-tag fast

import { expect, it } from 'vitest';
import { refuseUnsupportedCompositions } from '#src/search/refusals.js';
import type { EncodedQuery, SearchEngine } from '#src/search/search-types.js';
import { createJudge } from '#src/search/significance.js';

const DIMENSION = 32;
const LENGTH = 40;

/** All residues have the same token, so that the composition is as one-sided as possible. */
function oneSidedQuery(): EncodedQuery {
  const values = new Int8Array(LENGTH * DIMENSION).fill(20);
  return { sequence: 'A'.repeat(LENGTH), normalizationId: 'n', tokens: { values, length: LENGTH } };
}

function engineWith(maximumConcentration: number): SearchEngine {
  const supported = {
    query_minimum_residues: 1,
    query_maximum_residues: 1_000,
    maximum_concentration: maximumConcentration,
  };
  const manifest = { encoder: { dimension: DIMENSION, inverse_step: 113 }, affine: {} };
  return { calibration: { id: 'cal', card: { supported } }, release: { manifest } } as never;
}

it('the moments of a query are computed once if significance is required', async () => {
  const [query] = refuseUnsupportedCompositions('required', [oneSidedQuery()], engineWith(Infinity));
  expect(query!.moments).toBeDefined();
  const tokens = {
    length: LENGTH,
    get values(): Int8Array {
      return expect.fail('the moments are computed again');
    },
  };
  const settings = { significance: 'if_available', targetSpace: {} } as never;
  const judge = createJudge(settings, [query!.sequence], engineWith(0.5));
  const { candidates } = await judge({ ...query!, tokens }, [{} as never], {} as never, {});
  expect(candidates[0]!.significance).toMatchObject({ reason: 'query_composition_not_calibrated' });
});

it('a query whose composition has no E-values is refused before the search if significance is required', () => {
  expect(() => refuseUnsupportedCompositions('required', [oneSidedQuery()], engineWith(0.5))).toThrow(
    'too one-sided',
  );
  const queries = [oneSidedQuery()];
  expect(refuseUnsupportedCompositions('if_available', queries, engineWith(0.5))).toBe(queries);
});
