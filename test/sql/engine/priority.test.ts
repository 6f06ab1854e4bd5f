import { existsSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { EngineChannel } from '#src/sql/engine/channel.js';

const CHILDREN = `/proc/${process.pid}/task/${process.pid}/children`;
const children = (): number[] => readFileSync(CHILDREN, 'utf8').split(' ').filter(Boolean).map(Number);

it.skipIf(!existsSync(CHILDREN))(
  'the process of a SQL engine has a lower priority than the server',
  async () => {
    const before = new Set(children());
    const engine = new EngineChannel(() => undefined);
    try {
      const [pid] = children().filter((each) => !before.has(each));
      await expect.poll(() => getPriority(pid), { timeout: 10_000 }).toBeGreaterThan(getPriority());
      expect(getPriority(pid)).toBe(Math.min(19, getPriority() + 5));
    } finally {
      engine.end(new Error('The test has ended.'));
    }
  },
);
