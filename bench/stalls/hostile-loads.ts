import { assert } from '../../src/errors.js';
import { askSql, call, completeRun, createSqlLogin, type StallClient } from './client.js';
import type { Load, LoadScene } from './load.js';

/*
 * Loads that one client with a key can cause on purpose: tickets of ColabFold, requests for partial results, statements
 * without end. The answers are of no interest; the server must stay responsive.
 */

const TICKETS_COUNT = 154;
const TICKETS_SECONDS = 12;
const DIVISIONS_COUNT = 255;
const ARCHIVES_COUNT = 24;
const TICKET_QUERIES = 32;
const BOMB_SECONDS = 5;

const BOMBS = [
  'SELECT count(*) FROM range(1_000_000_000) AS a(x), range(1_000_000) AS b(y)',
  'SELECT sum(a.x * b.y) FROM range(10_000_000) AS a(x), range(10_000_000) AS b(y)',
  'SELECT list(x) FROM range(2_000_000_000) AS t(x)',
  "SELECT string_agg(repeat('x', 1_000_000)) FROM range(1_000_000)",
  "SELECT length(repeat('x', 2_000_000_000))",
  'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t',
  'SELECT x FROM range(2_000_000_000) AS t(x) ORDER BY hash(x)',
  'SELECT DISTINCT x FROM range(2_000_000_000) AS t(x)',
  "SELECT regexp_matches(repeat('a', 5_000_000), '(a*)*b') FROM range(1_000)",
  'SELECT list_sort(range(200_000_000))',
  'SELECT x, count(*) FROM range(1_000_000_000) AS t(x) GROUP BY x',
  'SELECT array_agg(range(x)) FROM range(100_000) AS t(x)',
  "SELECT repeat('[', 1_000_000)::JSON",
  `SELECT ${'('.repeat(500)}1${')'.repeat(500)}`,
  `SELECT ${Array.from({ length: 5_000 }, (_, at) => `${at} AS c${at}`).join(', ')}`,
] as const;

export const HOSTILE_LOADS: readonly Load[] = [
  { name: '1,000 aligned candidates inline', prepare: inline },
  { name: '154 tickets in 12 s', prepare: (scene) => Promise.resolve(() => tickets(scene)) },
  { name: '24 crafted archives at once', prepare: archives },
  { name: '255 divisions of a release', prepare: (scene) => Promise.resolve(() => divisions(scene)) },
  { name: '15 SQL bombs', prepare: bombs },
];

function inline(scene: LoadScene): Promise<() => Promise<void>> {
  return Promise.resolve(async () => {
    for (let at = 0; at < 10; at += 1) {
      const query = { kind: 'protein_sequence', sequence: scene.proteins[100 + at].sequence };
      const body = { query, limit: 1_000, evidence: 'pairwise_sequence_alignment' };
      await call(scene, { method: 'POST', path: '/v1/homology', body });
    }
  });
}

/** Submits tickets of new sequences at a steady rate, and cancels their runs afterwards. */
async function tickets(scene: LoadScene): Promise<void> {
  const ids: string[] = [];
  const submit = async (at: number): Promise<void> => {
    const q = `>101\n${scene.proteins[200 + at].sequence}\n`;
    const { run_ids: created } = (await form(scene, '/colabfold/ticket/msa', { q, mode: 'env' })) as {
      readonly run_ids?: readonly string[];
    };
    ids.push(...(created ?? []));
  };
  const submitted: Promise<void>[] = [];
  for (let at = 0; at < TICKETS_COUNT; at += 1) {
    submitted.push(submit(at));
    await new Promise((resolve) => setTimeout(resolve, (1_000 * TICKETS_SECONDS) / TICKETS_COUNT));
  }
  await Promise.all(submitted);
  for (const id of ids) await attempt(scene, 'POST', `/v1/runs/${id}/cancel`);
}

/** Asks at once for archives of tickets that name one run many times, by names that no other ticket has. */
async function archives(scene: LoadScene): Promise<() => Promise<void>> {
  const query = { kind: 'protein_sequence', sequence: scene.proteins[0].sequence };
  const input = { query, limit: 1_000, evidence: 'pairwise_sequence_alignment' };
  const run = await completeRun(scene, 'homology.search', input);
  return async () => {
    const written = Array.from({ length: ARCHIVES_COUNT }, (_, ticket) => [
      'ef',
      ...Array.from({ length: TICKET_QUERIES }, (__, at) => [`${ticket}-${at}`, run.id.replace('run_', '')]),
    ]);
    const ids = written.map((ticket) => Buffer.from(JSON.stringify(ticket)).toString('base64url'));
    const statuses = await Promise.all(
      ids.map((id) => attempt(scene, 'GET', `/colabfold/result/download/${id}`)),
    );
    assert(
      statuses.every((status) => status === 200),
      'every archive comes',
    );
  };
}

/** Asks for the partial result of one partition under every number of partitions. */
async function divisions(scene: LoadScene): Promise<void> {
  for (let count = 2; count < 2 + DIVISIONS_COUNT; count += 1) {
    await call(scene, {
      method: 'POST',
      path: '/parts/surveys',
      body: {
        release_id: scene.releaseId,
        kernels_version: scene.kernelsVersion,
        part: 1,
        part_count: count,
        filter: null,
        limit: 10,
        sampled: null,
        relatives: 'none',
        is_background: false,
        sequences: [scene.proteins[0].sequence],
      },
    });
  }
}

async function bombs(scene: LoadScene): Promise<() => Promise<void>> {
  const login = await createSqlLogin(scene);
  await askSql(scene, login, { sql: 'SELECT 1' }, 'application/json');
  return async () => {
    await Promise.allSettled(
      BOMBS.map((sql) =>
        askSql(scene, login, { sql, timeout_seconds: BOMB_SECONDS, limit: 1_000 }, 'application/json'),
      ),
    );
  };
}

async function form(
  { url, key }: StallClient,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: new URLSearchParams(fields),
  });
  return response.json();
}

/** Sends a request and returns its status, whatever it is. */
async function attempt({ url, key }: StallClient, method: string, path: string): Promise<number> {
  const response = await fetch(url + path, { method, headers: { Authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}
