import { spawn } from 'node:child_process';

/*
 * A program of its own: the leader of the predictor's process group. It runs the command that its arguments name, tells
 * the server how it ended, and then ends the whole group, itself included, so that nothing the command started stays
 * behind. Where the server goes away first, killed or not, the channel to it closes and the group ends, too.
 */

/** How the command ended; `error` where it could not be started. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly error?: string;
}

const endGroup = (): void => void process.kill(-process.pid, 'SIGKILL');
const report = (end: CommandEnd): void => void process.send?.(end, endGroup);

process.once('disconnect', endGroup);
// The group is asked to end before it is made to: the command may clean up, and this process waits for it.
process.on('SIGTERM', () => undefined);

const [command, ...args] = process.argv.slice(2);
spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  .once('error', ({ message }) => report({ code: null, signal: null, error: message }))
  .once('exit', (code, signal) => report({ code, signal }));
