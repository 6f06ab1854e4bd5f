import { spawn } from 'node:child_process';

/*
 * A separate program: the leader of the predictor's process group. It runs the command in its arguments and reports the
 * end to the server. Then it ends the whole group, itself included, so that no process of the command remains. If the
 * server ends first, even by a kill, the channel closes and the group ends, too.
 */

/** End of the command; `error` if it could not be started. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly error?: string;
}

const endGroup = (): void => void process.kill(-process.pid, 'SIGKILL');
const report = (end: CommandEnd): void => void process.send?.(end, endGroup);

process.once('disconnect', endGroup);
// The group gets SIGTERM before SIGKILL, so that the command can clean up. This process waits for the command.
process.on('SIGTERM', () => undefined);

const [command, ...args] = process.argv.slice(2);
spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  .once('error', ({ message }) => report({ code: null, signal: null, error: message }))
  .once('exit', (code, signal) => report({ code, signal }));
