import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig, loadPrices } from '#src/config.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(settings: object): Record<string, string> {
  const path = join(folder, 'settings.json');
  writeFileSync(path, JSON.stringify(settings));
  return { GLOAMING_CONFIG: path };
}

describe('the configuration', () => {
  it('listens on loopback only and has its folders in the package by default', () => {
    const config = loadConfig({});
    expect([config.host, config.port]).toEqual(['127.0.0.1', 8080]);
    expect(config.indexesFolder).toBe(join(config.packageFolder, 'indexes'));
    expect(config.tls).toBeUndefined();
  });

  it('is overridden by the environment, whose folders are relative to the working directory', () => {
    const config = loadConfig({
      GLOAMING_INDEXES: 'here',
      GLOAMING_DATA: '//no/../there/',
      GLOAMING_PORT: '0',
    });
    expect([config.indexesFolder, config.dataFolder, config.port]).toEqual([
      join(process.cwd(), 'here'),
      '/there',
      0,
    ]);
  });

  it('reads a file with some settings only, which the environment overrides', () => {
    const environment = { ...file({ port: 9_000, encoder: 'mine' }), GLOAMING_ENCODER: 'theirs' };
    const config = loadConfig(environment);
    expect([config.port, config.encoder, config.host]).toEqual([9_000, 'theirs', '127.0.0.1']);
  });

  it('names every invalid setting', () => {
    expect(() => loadConfig({ GLOAMING_PORT: 'eighty' })).toThrow(/port must be integer/);
    expect(() => loadConfig(file({ prot: 1 }))).toThrow(/prot/);
    expect(() => loadConfig(file({ public_url: 'ftp://x' }))).toThrow(/public_url/);
    expect(() => loadConfig(file({ tls: { key_file: 'k' } }))).toThrow(/certificate_file/);
    expect(() => loadConfig({ GLOAMING_CONFIG: join(folder, 'none.json') })).toThrow(/cannot be read/);
  });

  it('refuses workers that leave a partition out, and plain HTTP to another machine', () => {
    const node = (url: string, ...parts: number[]) => ({ url, key_file: 'k', parts });
    const workers = [node('https://a.lab:8080/x/', 1, 2), node('http://127.0.0.1:80', 2)];
    expect(loadConfig(file({ workers })).workers).toMatchObject({
      nodes: [{ url: 'https://a.lab:8080/x', keyFile: join(process.cwd(), 'k'), parts: [1, 2] }, {}],
      partCount: 2,
      onError: 'fail',
    });
    expect(loadConfig({}).workers).toBeUndefined();
    expect(loadConfig({}).servesParts).toBe(false);
    const gap = [node('https://a', 1), node('https://b', 4, 3)];
    expect(() => loadConfig(file({ workers: gap }))).toThrow(/4 parts, and no worker holds part 2/);
    for (const url of ['http://a.lab', 'http://127.0.0.1.lab', 'https://me@a', 'https://a/?x', 'ftp://a'])
      expect(() => loadConfig(file({ workers: [node(url, 1)] })), url).toThrow(/workers.0.url/);
    expect(() => loadConfig(file({ workers: [node('https://a', 0)] }))).toThrow(/parts/);
  });

  it('accepts origins only in the spelling of browsers', () => {
    const origins = ['http://notebooks.lab:8888', 'https://portal.lab', 'http://[::1]:3000'];
    expect(loadConfig(file({ cors_origins: origins })).corsOrigins).toEqual(origins);
    expect(loadConfig({}).corsOrigins).toEqual([]);
    for (const origin of [
      '*',
      'null',
      'https://*.lab',
      'http://lab/',
      'http://me@lab',
      'ftp://lab',
      'lab:80',
    ])
      expect(() => loadConfig(file({ cors_origins: [origin] }))).toThrow(/cors_origins/);
    for (const [typed, meant] of [
      ['https://portal.lab:443', 'https://portal.lab'],
      ['http://Lab', 'http://lab'],
      ['http://l\u00e4b', 'http://xn--lb-via'],
    ] as const)
      expect(() => loadConfig(file({ cors_origins: [typed] }))).toThrow(`browsers write ${meant}.`);
    expect(() => loadConfig(file({ cors_origins: ['http://a:99999'] }))).toThrow(/browsers write/);
  });

  it('fills in the defaults of nested settings', () => {
    const colabfold = { database: 'mylab' };
    const structure_predictor = { command: '/bin/fold', args: ['{input}', '{output}'] };
    const user_header = { name: 'X-User' };
    const groups = {
      colabfold,
      structure_predictor,
      user_header,
      trusted_proxies: ['127.0.0.1'],
      console: {},
    };
    const config = loadConfig(file(groups));
    expect(config.colabfold).toEqual({
      path: '/colabfold',
      database: 'mylab',
      maxEvalue: 1e-3,
      minCoverage: 0.5,
      maxSequences: 3_000,
      hasBackgroundRows: true,
      rounds: 1,
      homologSource: undefined,
      keyHeader: 'x-api-key',
    });
    expect(config.structurePredictor).toMatchObject({
      environment: {},
      timeoutMs: 21_600_000,
      output: { maxBytes: 2 ** 30, maxFiles: 256 },
      concurrency: 1,
    });
    expect(config.userHeader).toEqual({
      name: 'x-user',
      organizationId: 'default',
      scope: 'submit',
      operators: [],
    });
    expect(config.isConsoleOpen).toBe(false);
    expect(
      loadConfig(file({ colabfold: { database: 'x', max_evalue: null } })).colabfold?.maxEvalue,
    ).toBeNull();
  });

  it('ships prices of zero, in a currency', () => {
    const prices = loadPrices(loadConfig({}).packageFolder);
    expect(prices.currency).toMatch(/^[A-Z]{3}$/);
    expect(new Set(Object.values(prices.unit_prices))).toEqual(new Set(['0']));
  });
});
