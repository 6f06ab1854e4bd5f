import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runMmseqs } from '#src/find-homologs/mmseqs-process.js';

const HAS_GROUPS = existsSync('/proc/self/autogroup');
/** Prints the priority of a process that it starts, and that of the session, once the first one is lower. */
const SCRIPT = `#!/bin/sh
for attempt in $(seq "$1"); do
  if [ "$(nice)" -gt "$2" ]; then break; fi
  sleep 0.02
done
nice
${HAS_GROUPS ? 'cat /proc/self/autogroup' : 'echo nice 0'}
`;
const path = process.env.PATH;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-mmseqs-priority-'));

describe.skipIf(process.platform !== 'linux')('the priority of mmseqs (Linux)', () => {
  beforeAll(() => {
    writeFileSync(join(folder, 'mmseqs'), SCRIPT);
    chmodSync(join(folder, 'mmseqs'), 0o755);
    process.env.PATH = `${folder}${delimiter}${path}`;
  });

  afterAll(() => {
    process.env.PATH = path;
    rmSync(folder, { recursive: true });
  });

  const prioritiesOf = async (attempts: number, isLowPriority: boolean) => {
    const output = await runMmseqs([String(attempts), String(getPriority())], { isLowPriority });
    const [ofProcess, ofSession] = output.trim().split('\n');
    return { ofProcess: Number(ofProcess), ofSession: Number(ofSession.split(' ').at(-1)) };
  };

  it('is that of this process', async () => {
    expect((await prioritiesOf(1, false)).ofProcess).toBe(getPriority());
  });

  it('lies ten steps below, with that of the session, for work in the background', async () => {
    const lower = Math.min(19, getPriority() + 10);
    const { ofProcess, ofSession } = await prioritiesOf(500, true);
    expect(ofProcess).toBe(lower);
    if (HAS_GROUPS) expect(ofSession).toBe(lower);
  });
});
