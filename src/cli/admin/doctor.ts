import { cpus, totalmem } from 'node:os';
import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { GIBIBYTE_BYTES } from '../../limits.js';
import { listVerifiedEncoders } from '../../pipelines/encoders.js';
import {
  inspectGpus,
  inspectKernels,
  measureProcessor,
  mmseqsVersion,
  type Device,
  type GpuReport,
} from '../../pipelines/machine.js';
import type { CommandContext } from '../terminal/command.js';
import { formatTable } from '../terminal/table.js';
import { answersThere } from '../serve/address.js';
import { examineAppliance, isBad } from './checks.js';
import type { Finding } from './finding.js';

/** `gloaming doctor`: reports which parts of this installation work, and why others do not. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('which backend serves which operation, which encoders there are, why a GPU is not used')
    .option('--bench', 'measure the kernels against the limit of this machine, in under 30 seconds')
    .option('--json', 'what was found, for monitoring')
    .option(
      '--server',
      'only whether a server answers at the configured address, for the health check of a container',
    )
    .addHelpText('after', '\nExit code: 0 where nothing is bad, 2 where something is.')
    .action(({ bench, json, server }: Partial<Record<'bench' | 'json' | 'server', true>>) => {
      if (server) return lookForServer(context);
      if (bench) return measure(context);
      return json ? examineAsJson(context) : examine(context);
    });
}

async function lookForServer({ environment, stdout }: CommandContext): Promise<void> {
  const config = loadConfig(environment);
  const place = `${config.host}:${config.port}`;
  if (!(await answersThere(config)))
    throw new Refusal('address_unavailable', `No gloaming answers at ${place} within two seconds.`);
  stdout.write(`gloaming answers at ${place}\n`);
}

async function examineAsJson({ environment, stdout }: CommandContext): Promise<void> {
  const config = loadConfig(environment);
  const findings = await examineAppliance(config, new Date(), await listVerifiedEncoders(config));
  stdout.write(`${JSON.stringify({ is_good: !findings.some(isBad), findings }, undefined, 2)}\n`);
  refuseBad(findings);
}

function refuseBad(findings: readonly Finding[]): void {
  const bad = findings.filter(isBad);
  if (bad.length > 0) throw new Refusal('invalid_config', bad.map(({ message }) => `${message}.`).join(' '));
}

/** Measures which share of this machine's limit the selected kernels reach. */
async function measure({ stdout }: CommandContext): Promise<void> {
  const { kernels, maxsim, affine } = await measureProcessor();
  const share = (value: number): string => (value === 0 ? '' : `${(100 * value).toFixed(1)} %`);
  const rows = [
    ['MaxSim, dimension 64, one core', `${maxsim.d64.gops} GOPS`, share(maxsim.d64.peak_share)],
    ['MaxSim, dimension 128, one core', `${maxsim.d128.gops} GOPS`, share(maxsim.d128.peak_share)],
    ['MaxSim, two threads', `${maxsim.two_core_scaling.toFixed(2)} × one`, ''],
    ['affine scores, one core', `${affine.gcups_core} GCUPS`, share(affine.peak_share)],
    ['affine alignments, one core', `${affine.align_gcups_core} GCUPS`, ''],
    ['affine scores, 1,000 × 350 residues', `${affine.ms_1000x350} ms`, ''],
  ];
  stdout.write(`Machine    ${cpus()[0].model}, ${cpus().length} cores; kernels ${kernels}\n`);
  stdout.write(formatTable(['query of 300 residues', 'reached', 'of the measured peak'], rows));
}

async function examine({ environment, stdout }: CommandContext): Promise<void> {
  const config = loadConfig(environment);
  const memory = (totalmem() / GIBIBYTE_BYTES).toFixed(0);
  stdout.write(
    `${label('Machine')}${cpus()[0].model}, ${cpus().length} cores, ${memory} GiB, Node ${process.version}\n`,
  );
  const encoders = await listVerifiedEncoders(config);
  const findings = await examineAppliance(config, new Date(), encoders);
  for (const { topic, state, message } of findings) {
    // GPUs are reported below, one by one.
    if (topic === 'gpu') continue;
    stdout.write(
      `${label(topic[0].toUpperCase() + topic.slice(1))}${state === 'good' ? '' : `${state}: `}${message}\n`,
    );
  }
  // Printed before the backend is chosen: if the configured device cannot run, choosing it ends the command.
  stdout.write(`${gpuLines(config.device).join('\n')}\n\n`);

  const kernels = await inspectKernels(config);
  const operations = kernels.operations.map(({ operation, servedBy, reason }) => [
    operation,
    servedBy,
    reason,
  ]);
  stdout.write(formatTable(['operation', 'served by', 'why'], operations));
  const variants = kernels.variants.map(
    ({ name, isRunnable }) => `${name}${isRunnable ? '' : ' (not on this processor)'}`,
  );
  stdout.write(`\nKernels    ${kernels.version}: ${variants.join(', ')}\n\n`);

  const states = encoders.map(({ id, isShipped, card, problem }) => [
    id === config.encoder ? `${id} (default)` : id,
    isShipped ? 'package' : 'indexes folder',
    card === undefined ? '' : `${card.dimension}${card.is_baseline ? ', untrained baseline' : ''}`,
    problem ?? 'good',
  ]);
  stdout.write(formatTable(['encoder', 'from', 'dimensions', 'state'], states));
  const mmseqs = await mmseqsVersion();
  const summary =
    mmseqs === undefined
      ? 'not installed; only homolog sources that mmseqs searches need it (apt-get install mmseqs2)'
      : `${mmseqs}: searches homolog sources`;
  stdout.write(`\n${label('mmseqs')}${summary}\n`);
  refuseBad(findings);
}

/** Lists the GPUs, and why each is used or not. */
export function gpuLines(device: Device, report?: GpuReport): readonly string[] {
  const state = inspectGpus(device, report);
  const gpus = state.gpus.map((line) => line.replace(/^(GPU \d+): /, (_, gpu: string) => label(gpu)));
  const lines = [...gpus, label('GPU') + (state.obstacle ?? `The device setting is ${device}.`)];
  if (gpus.length > 0) {
    lines.push(`${label('GPU')}The server's /metrics report its memory (gloaming_gpu_resident_…).`);
  }
  if (!state.isVerified) {
    const unverified = 'This backend has not been verified on a GPU yet; the device setting auto is the CPU.';
    lines.push(label('CUDA') + unverified);
  }
  return lines;
}

function label(name: string): string {
  return name.padEnd(13);
}
