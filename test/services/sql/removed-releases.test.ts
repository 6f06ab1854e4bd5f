import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SQL_COPIES_SWEEP_INTERVAL_MS } from '#src/limits.js';
import type { Catalog } from '#src/services/search/catalog.js';
import type { SqlCredentials } from '#src/services/sql/credentials.js';
import type { SqlEngines } from '#src/services/sql/engines.js';
import { OrganizationTables } from '#src/services/sql/organization-tables.js';
import { Sql } from '#src/services/sql/sql.js';
import { SOON } from '../../tools/expectations.js';

/* Copies of a release that leaves the catalog while the server runs. Engines are fakes that count statements. */

let dataFolder: string;
let releaseIds: string[];
let statements: number;
let faults: unknown[];
let sql: Sql;

beforeEach(async () => {
  dataFolder = mkdtempSync(join(tmpdir(), 'gloaming-sql-copies-'));
  mkdirSync(join(dataFolder, 'sql', 'releases'), { recursive: true });
  for (const name of ['dbr_a.1.parquet', 'dbr_b.1.parquet', 'dbr_b.neighbours-0.parquet']) {
    writeFileSync(join(dataFolder, 'sql', 'releases', name), 'PAR1');
  }
  releaseIds = ['dbr_a', 'dbr_b'];
  statements = 0;
  faults = [];
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const tables = new OrganizationTables({
    catalog: {} as Catalog,
    dataFolder,
    releaseFolder: () => '',
    storeVersion: () => 0,
    releaseIds: () => releaseIds,
  });
  sql = new Sql({
    credentials: {} as SqlCredentials,
    engines: { counts: () => ({ engines: 1, statements }), close: () => undefined } as unknown as SqlEngines,
    tables,
    timeoutMs: 1_000,
  });
  await sql.start({ onStatement: () => undefined, onFault: (error) => void faults.push(error) });
});
afterEach(() => {
  sql.stop();
  vi.useRealTimers();
  rmSync(dataFolder, { recursive: true });
});

const copies = (): string[] => readdirSync(join(dataFolder, 'sql', 'releases')).sort();
const sweep = (): void => void vi.advanceTimersByTime(SQL_COPIES_SWEEP_INTERVAL_MS);

describe('the copies of a removed release', () => {
  it('are removed while the server runs, and those of other releases stay', async () => {
    sweep();
    expect(copies()).toHaveLength(3);
    releaseIds = ['dbr_a'];
    sweep();
    expect(existsSync(join(dataFolder, 'sql', 'releases', 'dbr_b.1.parquet'))).toBe(false);
    await expect.poll(copies, SOON).toEqual(['dbr_a.1.parquet']);
    expect(faults).toEqual([]);
  });

  it('stay while a statement could still read them', async () => {
    releaseIds = ['dbr_a'];
    statements = 1;
    sweep();
    expect(copies()).toHaveLength(3);
    statements = 0;
    sweep();
    await expect.poll(copies, SOON).toEqual(['dbr_a.1.parquet']);
  });

  it('stay after the stop of the server, until its next start', () => {
    sql.stop();
    releaseIds = [];
    sweep();
    expect(copies()).toHaveLength(3);
  });
});
