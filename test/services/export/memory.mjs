import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FileWriter } from '#src/services/storage/file-writer.js';
import { exportRuns } from '#src/services/run-kinds/export.js';
import { StorageRoom } from '#src/services/storage/room.js';
import { EventTable } from '#src/store/tables/events.js';
import { openControlStore } from '#src/store/control-store.js';
import { openStorageTables } from '#src/store/storage/storage.js';

// Exports a large made-up run, in the format that the first argument names, and prints what it took as JSON.

const QUERIES = 1_500;
const CANDIDATES = 200;
const BLOCK_ROWS = 5;
const format = process.argv[2];

const letters = Array.from({ length: 2_000 }, (_, at) => 'ACDEFGHIKLMNPQRSTVWY'[(at * at + at) % 20]).join(
  '',
);
const candidate = (query, rank) => {
  const start = (query * 31 + rank * 7) % 1_600;
  return {
    rank,
    target: {
      id: `T${query}_${rank}`,
      sequence: letters.slice(start, start + 350),
      attributes: { taxid: query },
    },
    measurements: {
      maxsim: { bidirectional: rank / 1_000 + query, query_to_target: 0.1, target_to_query: 0.2 },
      affine: { raw_score: 1_000 - rank, normalized_score: 0.5 },
    },
    alignment: {
      aligned_residue_count: 300,
      cigar: '100=50X10D150=',
      gap_opening_count: 1,
      gap_residue_count: 10,
      identical_residue_count: 250,
      query_coverage_ratio: 1,
      query_end: 300,
      query_length: 300,
      query_start: 0,
      sequence_identity_ratio: 250 / 310,
      target_coverage_ratio: 310 / 350,
      target_end: 310,
      target_start: 0,
    },
    significance: { status: 'not_available', reason: 'no_qualified_calibration', measurements: {} },
  };
};
const queryRow = (at) => ({
  query_index: at,
  query_id: `q${at}`,
  candidates: Array.from({ length: CANDIDATES }, (_, rank) => candidate(at, rank + 1)),
  evidence_summary: {
    requested: 'pairwise_sequence_alignment',
    significance: { reason: 'no_qualified_calibration' },
  },
});
const blockFrom = (firstRow) => Array.from({ length: BLOCK_ROWS }, (_row, at) => queryRow(firstRow + at));
const run = {
  id: 'run_000000000000000000000000',
  organizationId: 'lab',
  endpoint: 'homology.batch_search',
  status: 'completed',
  rowCount: QUERIES,
  summary: {
    database: {
      release_id: `dbr_${'0'.repeat(64)}`,
      slug: 'demo',
      searched_target_count: 1_000_000,
      searched_residue_count: 350_000_000,
    },
  },
};
const table = {
  get: () => run,
  rows: {
    async blockAt(_, row) {
      const firstRow = row - (row % BLOCK_ROWS);
      return { firstRow, rows: blockFrom(firstRow) };
    },
    packedBlockAt(_, row) {
      const firstRow = row - (row % BLOCK_ROWS);
      return { firstRow, packed: gzipSync(JSON.stringify(blockFrom(firstRow)), { level: 1 }) };
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'gloaming-export-memory-'));
const store = openControlStore(folder);
const { objects, files, usage } = openStorageTables(store, folder, new EventTable(store));
const room = new StorageRoom(objects, { quotaBytes: 1e12, reserveBytes: 0 });
const endpoint = exportRuns({
  table,
  receipts: undefined,
  catalog: { requireGrant: () => undefined },
  writer: new FileWriter({ objects, files, usage, room }),
});
const context = { organizationId: 'lab', keyId: 'local', signal: new AbortController().signal };
const idleBytes = memory('VmRSS');
const { plan } = await endpoint.prepare({ run_id: run.id, format }, context);
const work = endpoint.execute(plan, { context });
let longestPauseMs = 0;
let tickedAt = performance.now();
const ticks = setInterval(() => {
  longestPauseMs = Math.max(longestPauseMs, performance.now() - tickedAt - 5);
  tickedAt = performance.now();
}, 5);
let step = await work.next();
while (!step.done) step = await work.next();
clearInterval(ticks);
const { record_count, file } = await store.transaction(() => step.value.summarise(new Date()));
const usedBytes = memory('VmHWM') - idleBytes;
await store.close();
rmSync(folder, { recursive: true });
console.log(
  JSON.stringify({
    records: record_count,
    fileBytes: file.size_bytes,
    usedBytes,
    longestPauseMs,
    sha256: file.checksum,
  }),
);

function memory(what) {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)[1]) * 1024;
}
