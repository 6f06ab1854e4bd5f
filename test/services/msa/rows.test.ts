import { describe, expect, it } from 'vitest';
import { selectRows, type PossibleRow } from '#src/services/msa/rows.js';

const QUERY = 'MKTAYIAKQR';
const EVERYTHING = {
  maximum_depth: 100,
  minimum_query_coverage_ratio: 0,
  minimum_sequence_identity_ratio: 0,
  maximum_sequence_identity_ratio: 1,
  selection: 'identity_strata',
} as const;

function row(name: string, identity: number, more: { row?: string; eValue?: number } = {}): PossibleRow {
  const measured = {
    query_coverage_ratio: 1,
    sequence_identity_ratio: identity,
    ...(more.eValue === undefined ? {} : { expected_false_hits: more.eValue }),
  };
  return {
    ...measured,
    write: () => ({ ...measured, target_id: name, header: name, row: more.row ?? name.padEnd(10, '-') }),
  };
}

async function select(candidates: readonly PossibleRow[], more: object = {}) {
  const { signal } = new AbortController();
  const selected = await selectRows(candidates, QUERY, { ...EVERYTHING, ...more }, signal);
  return { ...selected, names: selected.rows.map(({ target_id }) => target_id) };
}

describe('rows of an alignment', () => {
  it('stay in the order of the ranks, without those that equal the query or one before', async () => {
    const candidates = [row('SELF', 1, { row: QUERY }), row('A', 0.3), row('B', 0.2), row('A', 0.3)];
    expect(await select(candidates)).toMatchObject({ names: ['A', 'B'], duplicateCount: 2 });
  });

  it('are kept apart by an insertion, which is part of a row', async () => {
    const candidates = [row('A', 0.3, { row: 'MK--------' }), row('B', 0.3, { row: 'MKv--------' })];
    expect((await select(candidates)).names).toEqual(['A', 'B']);
  });

  it('without an E-value pass no bound on E-values', async () => {
    const candidates = [row('A', 0.3, { eValue: 1e-9 }), row('B', 0.3), row('C', 0.3, { eValue: 2 })];
    const selected = await select(candidates, { maximum_expected_false_hits: 1 });
    expect(selected).toMatchObject({ names: ['A'], filteredCount: 2 });
  });

  it('beyond the depth give way class by class: the near ones do not crowd out the far ones', async () => {
    const near = Array.from({ length: 8 }, (_, at) => row(`N${at}`, 0.95));
    const far = [row('F0', 0.15), row('F1', 0.12)];
    const middle = [row('M0', 0.45)];
    const selected = await select([...near, ...far, ...middle], { maximum_depth: 6 });
    expect(selected).toMatchObject({ names: ['N0', 'N1', 'F0', 'F1', 'M0'], beyondDepthCount: 6 });
  });

  it('beyond the depth are the last ranks where ranks are asked for', async () => {
    const candidates = [row('A', 0.9), row('B', 0.9), row('C', 0.1)];
    const selected = await select(candidates, { maximum_depth: 3, selection: 'rank' });
    expect(selected).toMatchObject({ names: ['A', 'B'], beyondDepthCount: 1 });
  });

  it('are none at a depth of one: the query takes it', async () => {
    expect(await select([row('A', 0.9)], { maximum_depth: 1 })).toMatchObject({ names: [] });
  });

  it('stop being written when nobody waits for them', async () => {
    const controller = new AbortController();
    const many = Array.from({ length: 1_000 }, (_, at) => row(`R${at}`, 0.5));
    const selecting = selectRows(many, QUERY, EVERYTHING, controller.signal);
    controller.abort(new Error('gone'));
    await expect(selecting).rejects.toThrow('gone');
  });
});
