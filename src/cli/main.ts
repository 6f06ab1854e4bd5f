#!/usr/bin/env node
import { inspect } from 'node:util';
import { Command } from 'commander';
import { GloamingError } from '../clients/typescript/client.js';
import { Fault, Refusal } from '../errors.js';
import type { CommandContext, RegisterCommand } from './terminal/command.js';
import { register as registerBatch } from './batch/batch.js';
import { register as registerBackup } from './admin/backup.js';
import { register as registerHomologSource } from './index/homolog-source.js';
import { register as registerCalibration } from './index/calibration.js';
import { register as registerConfig } from './admin/config.js';
import { register as registerDoctor } from './admin/doctor.js';
import { register as registerEncoder } from './admin/encoder.js';
import { register as registerFsck } from './admin/fsck.js';
import { register as registerInit } from './admin/init.js';
import { register as registerIndex } from './index/index.js';
import { register as registerRefresh } from './index/releases/refresh.js';
import { register as registerKeys } from './admin/keys.js';
import { register as registerRuns } from './runs/runs.js';
import { register as registerSearch } from './search/search.js';
import { register as registerConsole } from './serve/console.js';
import { register as registerStart } from './serve/start.js';
import { register as registerUpgrade } from './admin/upgrade.js';
import { register as registerVerify } from './search/verify.js';

const COMMANDS: readonly RegisterCommand[] = [
  registerStart,
  registerInit,
  registerConfig,
  registerConsole,
  registerSearch,
  registerBatch,
  registerRuns,
  registerIndex,
  registerRefresh,
  registerCalibration,
  registerHomologSource,
  registerEncoder,
  registerKeys,
  registerVerify,
  registerBackup,
  registerFsck,
  registerDoctor,
  registerUpgrade,
];

const context: CommandContext = {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
};

const program = new Command('gloaming')
  .description('Finds distant homologs of a protein by exact late-interaction search.')
  .showHelpAfterError('(see --help)')
  .version('0.1.0');
for (const register of COMMANDS) register(program, context);

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

/**
 * Reports what the caller can fix, and failures of disk, device or peer, in one line. An internal error shows its
 * causes.
 */
function report(error: unknown): number {
  if (error instanceof Refusal || error instanceof GloamingError) {
    context.stderr.write(`gloaming: ${error.message}\n`);
    const errors = error instanceof Refusal ? (error.details.errors ?? []) : error.places;
    if (errors.length > 1)
      for (const each of errors) context.stderr.write(`  ${each.location}: ${each.message}\n`);
    return 2;
  }
  context.stderr.write(`gloaming: ${error instanceof Fault ? sentencesOf(error) : inspect(error)}\n`);
  return 1;
}

/** A fault and its causes, outermost first. */
function sentencesOf(fault: Fault): string {
  const said: string[] = [];
  for (let each: unknown = fault; each instanceof Error; each = each.cause) said.push(each.message);
  return said.join(' ');
}
