#!/usr/bin/env node
import { runProgram } from './program/program.js';
import type { CommandContext } from './terminal/command.js';

const context: CommandContext = {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
};

try {
  await runProgram(process.argv.slice(2), context);
} catch (error) {
  const { reportError } = await import('./program/errors.js');
  process.exitCode = reportError(error, context);
}
