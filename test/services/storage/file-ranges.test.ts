// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import { etagOf, requestedRange } from '#src/services/storage/file-ranges.js';
import type { FileRow } from '#src/store/storage/files.js';

const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

function fileOf(sizeBytes: number): FileRow {
  return {
    id: 'fil_1',
    organizationId: 'lab',
    path: 'a.txt',
    contentType: 'text/plain',
    sizeBytes,
    sha256: 'ab'.repeat(32),
    version: 'ver_1',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.750Z',
    acl: { default: 'forbid', rules: [] },
  };
}

/** The bytes that RFC 9110 selects by `bytes=first-last`, one by one. */
function named(first: number | undefined, last: number | undefined, sizeBytes: number): number[] {
  const all = Array.from({ length: sizeBytes }, (_, at) => at);
  if (first === undefined) return last === 0 ? [] : all.slice(-last!);
  return all.filter((at) => at >= first && (last === undefined || at <= last));
}

describe(`a range of a file (seed ${seed})`, () => {
  it('returns exactly the requested bytes, or is refused if it contains none', () => {
    const bound = fc.option(fc.nat(40), { nil: undefined });
    fc.assert(
      fc.property(fc.nat(30), bound, bound, (sizeBytes, first, last) => {
        const isNone = first === undefined && last === undefined;
        const isReversed = first !== undefined && last !== undefined && last < first;
        fc.pre(!isNone && !isReversed);
        const range = `bytes=${first ?? ''}-${last ?? ''}`;
        const expected = named(first, last, sizeBytes);
        if (expected.length === 0) {
          const refused = expect.objectContaining({ code: 'range_not_satisfiable' }) as Refusal;
          expect(() => requestedRange(fileOf(sizeBytes), { Range: range })).toThrow(refused);
          return;
        }
        const [start, end] = [expected[0], expected.at(-1)! + 1];
        expect(requestedRange(fileOf(sizeBytes), { Range: range })).toEqual({ status: 206, start, end });
      }),
      { seed },
    );
  });

  it('never makes the answer larger than the file, for any header', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^bytes=[0-9,\- ]{0,40}$/));
    fc.assert(
      fc.property(fc.nat(30), text, (sizeBytes, range) => {
        try {
          const wanted = requestedRange(fileOf(sizeBytes), { Range: range });
          if (wanted.status === 304) throw new Error('nothing asked for a condition');
          expect(wanted.start).toBeGreaterThanOrEqual(0);
          expect(wanted.end).toBeLessThanOrEqual(sizeBytes);
          if (wanted.status === 206) expect(wanted.start).toBeLessThan(wanted.end);
        } catch (error) {
          expect(error).toMatchObject({ code: 'range_not_satisfiable' });
        }
      }),
      { seed },
    );
  });
});

describe('the conditions of a request', () => {
  it('compare whole seconds, as HTTP dates do', () => {
    const second = 'Thu, 01 Jan 2026 00:00:00 GMT';
    const file = fileOf(3);
    expect(requestedRange(file, { 'If-Modified-Since': second })).toEqual({ status: 304 });
    expect(requestedRange(file, { 'If-Unmodified-Since': second })).toMatchObject({ status: 200 });
  });

  it("precede the range: no part is sent if the client's copy is current", () => {
    const file = fileOf(3);
    const headers = { Range: 'bytes=9-', 'If-None-Match': etagOf(file) };
    expect(requestedRange(file, headers)).toEqual({ status: 304 });
    const failed = expect.objectContaining({ code: 'precondition_failed' }) as Refusal;
    expect(() => requestedRange(file, { ...headers, 'If-Match': '"other"' })).toThrow(failed);
  });
});

it('a range may end behind the file, however far', () => {
  const far = '9'.repeat(400);
  expect(requestedRange(fileOf(10), { Range: `bytes=3-${far}` })).toEqual({ status: 206, start: 3, end: 10 });
  expect(requestedRange(fileOf(10), { Range: `bytes=-${far}` })).toEqual({ status: 206, start: 0, end: 10 });
  expect(() => requestedRange(fileOf(10), { Range: `bytes=${far}-` })).toThrow(Refusal);
});

it('a condition with a date to come is ignored: the clock was set back, and the file may be another', () => {
  const later = { 'If-Modified-Since': 'Fri, 02 Jan 2026 00:00:00 GMT' };
  const now = new Date('2026-01-01T00:00:01Z');
  expect(requestedRange(fileOf(10), later, now)).toMatchObject({ status: 200 });
  expect(requestedRange(fileOf(10), later, new Date('2026-01-02T00:00:00Z'))).toEqual({ status: 304 });
});
