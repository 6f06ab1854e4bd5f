import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HomologyFilter } from '#src/contract/search/filter.js';
import { ROUTES } from '#src/contract/document/routes.js';
import { REFUSAL_MAX_LOCATIONS } from '#src/limits.js';
import { createValidators, type RouteValidator } from '#src/contract/document/validation.js';
import { printable } from '#src/printable.js';

const validators = createValidators(Object.values(ROUTES));
const search = validators.get(ROUTES['homology.search']) as RouteValidator;
const compile = validators.get(ROUTES['homology.target_space_compilations.create']) as RouteValidator;
const runs = validators.get(ROUTES['runs.create']) as RouteValidator;
const SEED = Date.now() % 2 ** 31;
const RELEASE = `dbr_${'0'.repeat(64)}`;

const VALUE_OPS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'prefix', 'suffix', 'contains', 'descends_from'];
const VALUES_OPS = ['in', 'not_in', 'contains_any', 'contains_all'];

function request(overrides: object): Record<string, unknown> {
  return { query: { kind: 'protein_sequence', sequence: 'MKV' }, ...overrides };
}

/** A random filter of one of the 21 shapes. */
const filters = fc.letrec<{ filter: HomologyFilter }>((tie) => {
  const field = fc.string({ minLength: 1, maxLength: 20 });
  const value = fc.string({ maxLength: 20 });
  return {
    filter: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.record({ op: fc.constantFrom(...VALUE_OPS), field, value }),
      fc.record({
        op: fc.constantFrom(...VALUES_OPS),
        field,
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ op: fc.constantFrom('between', 'not_between'), field, values: fc.tuple(value, value) }),
      fc.record({ op: fc.constantFrom('exists', 'missing'), field }),
      fc.record({ op: fc.constant('not'), filter: tie('filter') }),
      fc.record({
        op: fc.constantFrom('and', 'or'),
        filters: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
      }),
    ) as fc.Arbitrary<HomologyFilter>,
  };
}).filter;

describe(`the schemas of the homology request (seed ${SEED})`, () => {
  it('accept every filter of the 21 shapes', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(search.check('body', request({ filter }))).toEqual([]);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('refuse a filter with an additional member, and name the member', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const faults = search.check('body', request({ filter: { ...filter, surplus: '1' } }));
        expect(faults.map(({ location }) => location)).toEqual(['body.filter.surplus']);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it('refuse a filter without a required member', () => {
    fc.assert(
      fc.property(filters, fc.nat(), (filter, at) => {
        const names = Object.keys(filter).filter((name) => name !== 'op');
        const lost = names[at % names.length] as string;
        const { [lost as 'op']: _lost, ...rest } = filter;
        const faults = search.check('body', request({ filter: rest }));
        expect(faults).toMatchObject([
          {
            location: `body.filter.${lost}`,
            place: ['body', 'filter', lost],
            message: 'is required',
            value: null,
          },
        ]);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it('accept 13 of the 21 on the compilation route', () => {
    const shapes = [
      ...VALUE_OPS.map((op) => ({ op, field: 'f', value: '1' })),
      ...VALUES_OPS.map((op) => ({ op, field: 'f', values: ['1'] })),
      ...['between', 'not_between'].map((op) => ({ op, field: 'f', values: ['1', '2'] })),
      ...['exists', 'missing'].map((op) => ({ op, field: 'f' })),
      ...['and', 'or'].map((op) => ({ op, filters: [{ op: 'exists', field: 'f' }] })),
      { op: 'not', filter: { op: 'exists', field: 'f' } },
    ];
    expect(shapes.length).toBe(21);
    const accepted = shapes.filter(
      (Filter) => compile.check('body', { DatabaseReleaseID: RELEASE, Filter }).length === 0,
    );
    expect(accepted.map(({ op }) => op).sort()).toEqual([
      'and',
      'eq',
      'exists',
      'gt',
      'gte',
      'in',
      'lt',
      'lte',
      'missing',
      'ne',
      'not',
      'not_in',
      'or',
    ]);
  });

  it('fill in defaults', () => {
    const body = request({});
    expect(search.check('body', body)).toEqual([]);
    expect(body).toMatchObject({
      limit: 100,
      evidence: 'candidate_measurement',
      guarantee: 'approximate',
      significance: 'if_available',
    });
  });

  it('quote a long value only in part', () => {
    const [fault] = search.check('body', request({ evidence: 'x'.repeat(100_000) }));
    expect(String(fault?.value).length).toBeLessThan(200);
  });
});

describe('parameters', () => {
  const list = validators.get(ROUTES['homology.databases.list']) as RouteValidator;

  it('accept plain decimal integers only', () => {
    const query = { limit: '7' };
    expect(list.check('query', query)).toEqual([]);
    expect(query).toEqual({ limit: 7 });
    for (const limit of ['7.0', '0x7', '1e1', ' 7', '', '+7', '٧']) {
      expect(list.check('query', { limit }).length, limit).toBeGreaterThan(0);
    }
  });

  it('limit the start deadline to values above 0.1 s', () => {
    const accepted = ['0.11', '0.2', '1', '2.5', '0.110', '600'];
    const refused = ['0.1', '0.10', '0', '-1', '1.', '.5', '1e3', '', '0.05', '00.5'];
    const check = (value: string) =>
      search.check('header', { 'Service-Request-Timeout': value }).length === 0;
    expect(accepted.filter(check)).toEqual(accepted);
    expect(refused.filter(check)).toEqual([]);
  });
});

describe('the id of a query of a run', () => {
  const faultsOf = (endpoint: string, id: string) =>
    runs.check('body', { endpoint, input: { database: 'mylab', queries: [{ id, sequence: 'MKV' }] } });

  it.each(['homology.batch_search', 'homology.annotate'])('has no control characters (%s)', (endpoint) => {
    for (const id of ['q1', 'two words', 'Bäcker|日本-𝒳', '~']) expect(faultsOf(endpoint, id)).toEqual([]);
    for (const character of '\0\t\n\r\u001b\u007f\u0085\u200e\u2028\u202e\u2066') {
      const faults = faultsOf(endpoint, `a${character}b`);
      expect(faults.map(({ location }) => location)).toEqual(['body.input.queries[0].id']);
    }
  });

  it('is printable exactly if the schema accepts it', () => {
    for (let code = 1; code <= 0xffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const id = String.fromCharCode(code);
      const isAccepted = faultsOf('homology.batch_search', id).length === 0;
      if (isAccepted !== (printable(id) === id)) expect.fail(`U+${code.toString(16)}`);
    }
  });
});

describe('a long list', () => {
  const batch = (queries: readonly unknown[]) => ({
    endpoint: 'homology.batch_search',
    input: { queries: [...queries] },
  });
  const query = (index: number): unknown => ({ id: `q${index}`, sequence: 'MKV' });
  const places = (faults: ReturnType<RouteValidator['check']>) => faults.map(({ location }) => location);

  it('is checked element by element, with equal results at once and in steps', async () => {
    const queries = Array.from({ length: 30_000 }, (_, index) => query(index));
    expect(runs.check('body', batch(queries))).toEqual([]);
    queries[257] = { sequence: 7 };
    queries[29_999] = { sequence: 'MKV', name: 'x' };
    const expected = ['body.input.queries[257].sequence', 'body.input.queries[29999].name'];
    expect(places(runs.check('body', batch(queries)))).toEqual(expected);
    expect(places(await runs.checkBodyInTurns(batch(queries)))).toEqual(expected);
    expect(runs.check('body', batch([]))).toHaveLength(1);
    expect(places(runs.check('body', { ...batch([]), input: { queries: 'MKV' } }))).toEqual([
      'body.input.queries',
    ]);
  });

  it('that is too long is refused with its bound', () => {
    const [fault] = runs.check('body', batch(Array.from({ length: 100_001 }, () => query(1))));
    expect(fault).toMatchObject({ location: 'body.input.queries', bounds: { maxItems: 100_000 } });
    const fasta = 'A'.repeat(60 * 1024 * 1024 + 1);
    const [long] = runs.check('body', { endpoint: 'homology.batch_search', input: { fasta } });
    expect(long).toMatchObject({ location: 'body.input.fasta', bounds: { maxLength: 62_914_560 } });
  });

  it('with a fault in each element is refused at the first places, without a look at the others', () => {
    const filterOf = (count: number) => request({ filter: { op: 'and', filters: Array(count).fill(0) } });
    const faults = search.check('body', filterOf(1_000));
    expect(faults).toHaveLength(REFUSAL_MAX_LOCATIONS + 1);
    expect(faults[0]!.location).toBe('body.filter.filters[0]');
    // Elements of a list that is too long are not checked.
    expect(places(search.check('body', filterOf(15_000)))).toEqual(['body.filter.filters']);
  });

  it('within a list is checked, too', () => {
    const inner = { op: 'or', filters: [{ op: 'eq', field: 'a', value: 'b' }, { op: 'zz' }] };
    const faults = search.check('body', request({ filter: { op: 'and', filters: [inner] } }));
    expect(places(faults)).toEqual(['body.filter.filters[0].filters[1].op']);
  });

  it('does not block the event loop', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 0);
    await runs.checkBodyInTurns(batch(Array.from({ length: 100_000 }, (_, index) => query(index))));
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(0);
  });
});
