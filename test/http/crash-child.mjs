import { IdempotencyTable } from '#src/store/tables/idempotency.js';
import { openControlStore } from '#src/store/control-store.js';

/* Executes one keyed request and kills itself: before the response is stored, or between storage and reply. */

const [folder, when] = process.argv.slice(2);
const table = new IdempotencyTable(openControlStore(folder));
const now = new Date('2026-08-08T00:00:00Z');
const claim = await table.claim(
  { organizationId: 'lab', key: 'key', scope: 'scope', fingerprint: 'fingerprint' },
  now,
);
if (when === 'after') {
  await claim.persist(
    { status: 200, headers: { 'x-request-id': 'req_first' }, body: 'the first answer' },
    now,
  );
}
process.kill(process.pid, 'SIGKILL');
