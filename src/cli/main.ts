#!/usr/bin/env node
import { reportError } from './program/errors.js';
import { runProgram } from './program/program.js';
import { printedContext } from './terminal/printed.js';

const context = printedContext({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

try {
  await runProgram(process.argv.slice(2), context);
} catch (error) {
  process.exitCode = reportError(error, context);
}
