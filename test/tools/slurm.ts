import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';

/** Reason why real Slurm daemons cannot be started here; undefined if they can. */
export const whyNoSlurm: string | undefined = (() => {
  const daemons = ['munged', 'slurmctld', 'slurmd', 'sbatch'];
  const missing = daemons.filter((name) => spawnSync('which', [name]).status !== 0);
  if (missing.length > 0) return `${missing.join(', ')} not installed`;
  return process.getuid?.() === 0 ? undefined : 'the daemons need root to start tasks';
})();

/** Slurm's own daemons on this machine's loopback: one controller, and one slurmd for each simulated node. */
export interface Slurm {
  /** Environment of Slurm's commands and their callers. */
  readonly environment: Readonly<Record<string, string>>;
  readonly command: (name: string, ...args: string[]) => string;
  stop(): Promise<void>;
}

const START_MAX_MS = 120_000;

/** Starts a cluster in a folder of its own, with two processors a node. */
export async function startSlurm(folder: string, nodeCount: number): Promise<Slurm> {
  const path = (name: string): string => join(folder, name);
  for (const name of ['state', 'spool', 'log']) mkdirSync(path(name), { recursive: true });
  writeFileSync(path('munge.key'), randomBytes(1024));
  chmodSync(path('munge.key'), 0o400);
  const names = Array.from({ length: nodeCount }, (_, node) => `node${node + 1}`);
  const [control, ...ports] = await freePorts(nodeCount + 1);
  writeFileSync(path('slurm.conf'), configuration(folder, control, names, ports));
  const environment = { SLURM_CONF: path('slurm.conf') };
  const daemons: ChildProcess[] = [];
  const start = (program: string, ...args: string[]): void => {
    const child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: 'ignore' });
    daemons.push(child);
  };
  const command = (name: string, ...args: string[]): string =>
    execFileSync(name, args, { env: { ...process.env, ...environment }, encoding: 'utf8', stdio: 'pipe' });
  const munge = ['socket', 'pid-file', 'log-file', 'seed-file'].map(
    (name) => `--${name}=${path(`munge.${name}`)}`,
  );
  // --force, because the folder is private, and munge expects one that all users may enter.
  start('munged', '--foreground', '--force', `--key-file=${path('munge.key')}`, ...munge);
  start('slurmctld', '-D');
  for (const name of names) start('slurmd', '-D', '-N', name);
  const stop = async (): Promise<void> => {
    try {
      command('scancel', '--user=root');
    } catch {
      // A controller that does not respond has no job to cancel.
    }
    // The controller ends last but one, and munge last, because the others need them to end.
    for (const daemon of daemons.reverse()) {
      const ended = new Promise((resolve) => daemon.once('exit', resolve));
      if (daemon.exitCode === null && daemon.signalCode === null) {
        daemon.kill('SIGTERM');
        await Promise.race([ended, setTimeout(10_000).then(() => daemon.kill('SIGKILL'))]);
      }
    }
  };
  const slurm = { environment, command, stop };
  await untilIdle(slurm, nodeCount).catch(async (cause: unknown) => {
    await stop();
    throw cause;
  });
  return slurm;
}

/** Slurm tasks that wait at their start, so that none ends while a test looks for a running one. */
export interface HeldTasks {
  /** Environment of the submitting command, which sbatch passes on. */
  readonly environment: Readonly<Record<string, string>>;
  release(): void;
}

/** @param folder of its own files, without a blank in its path */
export function holdTasks(folder: string): HeldTasks {
  const [held, program] = [join(folder, 'held'), join(folder, 'hold.cjs')];
  writeFileSync(held, '');
  writeFileSync(
    program,
    `const still = new Int32Array(new SharedArrayBuffer(4));
     const isHeld = () => require('node:fs').existsSync(${JSON.stringify(held)});
     while (process.env.SLURM_ARRAY_TASK_ID && isHeld()) Atomics.wait(still, 0, 0, 50);`,
  );
  return { environment: { NODE_OPTIONS: `--require=${program}` }, release: () => rmSync(held) };
}

/** Cancels a running task, and resolves once it has ended. */
export async function cancelTask({ command }: Slurm, task: string): Promise<void> {
  command('scancel', task);
  const running = (): string => command('squeue', '--noheader', '--array', '--states=R,CG', '--format=%i');
  while (running().split('\n').includes(task)) await setTimeout(50);
}

async function untilIdle({ command }: Slurm, nodeCount: number): Promise<void> {
  const startedMs = performance.now();
  let output = '';
  while (performance.now() - startedMs < START_MAX_MS) {
    try {
      output = command('sinfo', '--noheader', '--Node', '--format=%t');
    } catch (cause) {
      output = (cause as Error).message;
    }
    if (output.split('\n').filter((state) => state === 'idle').length === nodeCount) return;
    await setTimeout(200);
  }
  throw new Error(`Slurm did not start: ${output}`);
}

/** No cgroups and no accounting, which containers lack. A killed task may start again at once. */
function configuration(
  folder: string,
  controlPort: number,
  names: readonly string[],
  ports: readonly number[],
): string {
  const host = hostname().split('.')[0];
  const nodes = names.map(
    (name, node) => `NodeName=${name} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[node]} CPUs=2`,
  );
  return `${[
    'ClusterName=test',
    `SlurmctldHost=${host}(127.0.0.1)`,
    'SlurmUser=root',
    'AuthType=auth/munge',
    `AuthInfo=socket=${folder}/munge.socket`,
    'CredType=cred/munge',
    `SlurmctldPort=${controlPort}`,
    `SlurmctldPidFile=${folder}/slurmctld.pid`,
    `SlurmdPidFile=${folder}/slurmd-%n.pid`,
    `StateSaveLocation=${folder}/state`,
    `SlurmdSpoolDir=${folder}/spool/%n`,
    `SlurmctldLogFile=${folder}/log/slurmctld`,
    `SlurmdLogFile=${folder}/log/%n`,
    'MailProg=/bin/true',
    'MpiDefault=none',
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'AccountingStorageType=accounting_storage/none',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_CPU',
    'SlurmdParameters=config_overrides',
    'SchedulerParameters=batch_sched_delay=0,sched_interval=1,requeue_delay=1',
    'ReturnToService=2',
    'KillWait=2',
    'MinJobAge=60',
    ...nodes,
    'PartitionName=main Nodes=ALL Default=YES State=UP',
  ].join('\n')}\n`;
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
