// @module-tag fast

import { expect, it } from 'vitest';
import { createReceipts } from '#src/services/search/receipts.js';
import { ReceiptTable } from '#src/store/tables/receipts.js';
import { useScratchStore } from '../../store/scratch-store.js';
import { context } from '../runs/hands.js';

const scratch = useScratchStore();

const ENGINE = {
  release: { id: 'dbr_1', manifest: { encoder: { id: 'gloaming-5', sha256: '0' } }, targets: {} },
  backend: { version: '1' },
} as never;
const requestOf = (sequence: string) =>
  ({ query: { sequence, normalizationId: 'n' }, targetSpace: {}, limit: 1 }) as never;
const execute = () => ({ result: { candidates: [], policy: { id: 'policy' } } }) as never;

it('a cached execution has a receipt although the table is full of newer ones', async () => {
  let second = 0;
  const now = (): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, (second += 1)));
  const receipts = createReceipts(new ReceiptTable(scratch.store, { maxCount: 3 }), {} as never, now);
  const cached = execute();
  const first = await receipts.issue(ENGINE, requestOf('MK'), cached, context());
  for (const sequence of ['A', 'C', 'D', 'E']) {
    await receipts.issue(ENGINE, requestOf(sequence), execute(), context());
  }
  const table = new ReceiptTable(scratch.store);
  expect(table.get(first.id)).toBeUndefined();
  expect(await receipts.issue(ENGINE, requestOf('MK'), cached, context())).toEqual(first);
  expect(table.get(first.id)?.createdAt).toBe('2026-01-01T00:00:06.000Z');
});
