/* A control store on a file system that is full: <folder> <rounds> [other]. Prints the failures of its writers. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openControlStore } from '#src/store/control-store.js';

const [, , folder, rounds, other] = process.argv;
const store = openControlStore(join(folder, 'data'));
const table = store.table('rows');
await store.transaction(() => table.putSync('before', 'kept'));
try {
  writeFileSync(join(folder, 'filler'), Buffer.alloc(1 << 20));
} catch {
  // Full, as it shall be.
}
if (other !== undefined) void Promise.reject(new Error('no handler is attached'));

const failures = [];
for (let round = 0; round < Number(rounds); round += 1) {
  const writes = [0, 1, 2].map((at) =>
    store
      .transaction(() => table.putSync(`${round} ${at}`, 'x'.repeat(20_000)))
      .catch((error) => failures.push(error)),
  );
  await Promise.all(writes);
}
const problem = store.problem();
rmSync(join(folder, 'filler'));
await store.transaction(() => table.putSync('after', 'kept'));
const result = {
  before: table.get('before'),
  refused: failures.length,
  codes: [...new Set(failures.map(({ code }) => code))],
  message: failures[0]?.message,
  problem,
  keys: [...table.getKeys()],
  problemAfter: store.problem() ?? null,
};
await store.close();
process.stdout.write(JSON.stringify(result));
