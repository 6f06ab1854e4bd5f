// @module-tag fast

import { describe, expect, it } from 'vitest';
import { compileFilter } from '#src/release/filter/filter.js';
import type { Release, ReleaseManifest } from '#src/release/release.js';
import { compileTargetSpace, targetSpaceId, unfilteredSpace } from '#src/release/filter/target-space.js';
import { fieldsOf, filteredRelease } from './filter-table.js';

const fields = fieldsOf({ organism: 'string', length: 'integer' });
const release = {
  ...filteredRelease([{ organism: 'a' }, { organism: 'b' }, {}, { organism: 'b', length: 4 }]),
  id: `dbr_${'0'.repeat(64)}`,
  fields,
  manifest: {
    filter_schema: { id: 'fsch_1', fields: [] },
    counts: { targets: 4, residues: 10 },
  } as unknown as ReleaseManifest,
} as unknown as Release;

const compile = (predicate: unknown) => compileFilter(predicate, fields, { place: ['filter'] });

describe('a target space', () => {
  it('holds the eligible targets in ascending order, and counts them and their residues', () => {
    const space = compileTargetSpace(release, compile({ op: 'eq', field: 'organism', value: 'b' }));
    expect([...space.eligible!]).toEqual([1, 3]);
    expect(space).toMatchObject({ searchedTargetCount: 2, searchedResidueCount: 6, releaseId: release.id });
    expect(space.id).toMatch(/^htsp_[0-9a-f]{64}$/);
    expect(Object.isFrozen(space)).toBe(true);
  });

  it('may be empty, and is still a target space', () => {
    const space = compileTargetSpace(release, compile({ op: 'eq', field: 'organism', value: 'c' }));
    expect([...space.eligible!]).toEqual([]);
    expect(space).toMatchObject({ searchedTargetCount: 0, searchedResidueCount: 0 });
  });

  it('has one id for equal canonical filters, and another for another filter, release or filter schema', () => {
    const filter = compile({ op: 'in', field: 'length', values: ['4.0'] });
    const id = compileTargetSpace(release, filter).id;
    expect(compileTargetSpace(release, compile({ op: 'eq', field: 'length', value: '4' })).id).toBe(id);
    const manifest = { ...release.manifest, filter_schema: { id: 'fsch_2', fields: [] } };
    const others = [
      targetSpaceId(release, compile({ op: 'eq', field: 'length', value: '5' })),
      targetSpaceId({ ...release, id: `dbr_${'1'.repeat(64)}` }, filter),
      targetSpaceId({ ...release, manifest }, filter),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });

  it('keeps its id from version to version', () => {
    // A golden value: a change of it would orphan every stored target space.
    const filter = compile({
      op: 'and',
      filters: [
        { op: 'ne', field: 'organism', value: 'a' },
        { op: 'gt', field: 'length', value: '3' },
      ],
    });
    expect(filter.predicate).toEqual({
      op: 'and',
      filters: [
        { field: 'length', op: 'gt', value: '3' },
        { field: 'organism', op: 'ne', value: 'a' },
      ],
    });
    expect(targetSpaceId(release, filter)).toBe(
      'htsp_9c0b551b4d3de1ed3e63e26cf0b7342266727bff37cdaf764bdb1eb993f29b9e',
    );
  });

  it('without a filter is the whole release, and has no id', () => {
    expect(unfilteredSpace(release)).toEqual({
      releaseId: release.id,
      searchedTargetCount: 4,
      searchedResidueCount: 10,
    });
  });
});
