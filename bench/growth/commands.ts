import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { assert } from '../../src/errors.js';

const SAMPLE_MS = 100;
/** Fields of /proc/<pid>/stat behind the name of the program, which may contain spaces. */
const GROUP_FIELD = 2;
const RESIDENT_FIELD = 21;
const PAGE_BYTES = 4096;

/** Cost of a command with its child processes. */
export interface CommandCost {
  /** User and system time. */
  readonly seconds: number;
  /** Largest sum of resident memory, sampled. 0 without /proc. */
  readonly peakBytes: number;
}

/**
 * Runs a command of bash and measures it.
 * Errors  assertion if it fails, with the last lines of its standard error
 */
export async function measured(command: string, cwd: string): Promise<CommandCost> {
  // The group of a detached process has the id of that process.
  const child = spawn('bash', ['-c', `time (${command})`], {
    cwd,
    detached: true,
    env: { ...process.env, TIMEFORMAT: '%U %S' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let peakBytes = 0;
  const sampler = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes(child.pid ?? 0));
  }, SAMPLE_MS);
  try {
    const ended = new Promise<number | null>((done) => child.on('close', done));
    const lines = (await text(child.stderr)).trimEnd().split('\n');
    const status = await ended;
    assert(status === 0, `${command} ends with ${status}: ${lines.slice(-4, -1).join(' ')}`);
    const [user, system] = (lines.at(-1) ?? '').split(' ').map(Number);
    return { seconds: user + system, peakBytes };
  } finally {
    clearInterval(sampler);
  }
}

/** Resident memory of all processes of a group. Shared pages count in each. */
function residentBytes(group: number): number {
  let pages = 0;
  try {
    for (const name of readdirSync('/proc')) if (/^\d+$/.test(name)) pages += pagesIn(name, group);
  } catch {
    return 0;
  }
  return pages * PAGE_BYTES;
}

/** 0 for a process of another group, or one that has ended. */
function pagesIn(process: string, group: number): number {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[GROUP_FIELD]) === group ? Number(fields[RESIDENT_FIELD]) : 0;
  } catch {
    return 0;
  }
}
