// @module-tag fast

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import { refusalsOf, ROUTES } from '#src/contract/document/routes.js';
import { ROOT } from '../../tools/paths.js';

const SOURCES = join(ROOT, 'src');
/** Layers that answer requests. */
const SERVING = [
  'contract',
  'sequence',
  'release',
  'encoder',
  'search',
  'store',
  'sql',
  'services',
  'http',
  'postgres',
];
/**
 * Parts of these layers that only the command line calls. For a request, a broken encoder is a fault, not a refusal.
 */
const FOR_THE_COMMAND_LINE = [
  'encoder/',
  'release/catalog.ts',
  // Runs that read FASTA files refuse them as `invalid_queries`.
  'sequence/fasta.ts',
  'sequence/input-file.ts',
  'sequence/unpack.ts',
  'search/partitions/',
  'services/backup/',
  'http/listener.ts',
  'services/keys.ts',
  // Key files at the start, and a page for coordinators outside the contract.
  'services/workers/',
  'store/owner.ts',
  'store/secret-key.ts',
  'store/prepare.ts',
  'store/snapshot.ts',
  'store/version.ts',
];

/** Codes of failures that appear in a body, such as that of a failed run, and never as a status. */
const TOLD_IN_BODIES: ReadonlySet<string> = new Set([
  'run_interrupted',
  'calibration_changed',
  'prediction_failed',
]);

function thrownBy(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(join(SOURCES, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const text = readFileSync(join(SOURCES, folder, name), 'utf8');
      return [...text.matchAll(/new Refusal\(\s*'([a-z_]+)'/g)].map(
        ([, code]) => [`${folder}/${name}`, code as string] as const,
      );
    });
}

describe('every refusal', () => {
  const thrown = SERVING.flatMap(thrownBy);

  it('of a request is in the contract', () => {
    const unknown = thrown.filter(
      ([path, code]) =>
        !Object.hasOwn(REFUSALS, code) && !FOR_THE_COMMAND_LINE.some((place) => path.startsWith(place)),
    );
    expect(unknown).toEqual([]);
    expect(thrown.length).toBeGreaterThan(20);
  });

  it('has a meaning in one sentence', () => {
    for (const { meaning } of Object.values(REFUSALS)) expect(meaning).toMatch(/^[A-Z`].*\.$/);
  });

  it('has a status of the contract, and is retryable if the status is transient', () => {
    for (const [code, { status, isRetryable }] of Object.entries(REFUSALS)) {
      if (TOLD_IN_BODIES.has(code)) continue;
      expect(status).toBeGreaterThanOrEqual(400);
      if ([408, 429, 500, 503, 504].includes(status))
        expect({ code, isRetryable }).toEqual({ code, isRetryable: true });
      if ([400, 401, 403, 404, 405, 413, 415, 422].includes(status))
        expect({ code, isRetryable }).toEqual({ code, isRetryable: false });
    }
  });

  it('is documented by the routes that can answer with it', () => {
    const documented = new Set(Object.values(ROUTES).flatMap((route) => refusalsOf(route)));
    // Codes that appear only in the log, and codes of later routes.
    const notYet = new Set(['client_closed_request', 'result_expired', ...TOLD_IN_BODIES]);
    expect(
      Object.keys(REFUSALS).filter((code) => !documented.has(code as never) && !notYet.has(code)),
    ).toEqual([]);
  });
});
