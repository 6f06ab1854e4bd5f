import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

/* Setup of every test file: hands the reporter the processor time of the file. */

/** Unit: clock ticks per second of /proc/self/stat; Linux reports 100 on every architecture. */
const TICKS_PER_SECOND = 100;

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of this process and of its ended children during the file. Unit: s */
    processorSeconds?: number;
  }
}

// A process that runs several files keeps this value between them.
const state = globalThis as { gloamingCountedSeconds?: number };

// oxlint-disable-next-line no-empty-pattern -- vitest reads the parameter list, and the first must be a pattern
afterAll(({}, file) => {
  const seconds = processorSeconds();
  file.meta.processorSeconds = seconds - (state.gloamingCountedSeconds ?? 0);
  state.gloamingCountedSeconds = seconds;
});

/** Of this process since its start, with the children that it has waited for where /proc states them. */
function processorSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The second field is a name in parentheses; utime, stime, cutime and cstime are fields 14 to 17.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
}
