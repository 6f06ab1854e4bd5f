#!/usr/bin/env node
import { Fault } from '../errors.js';
import { reportError } from './program/errors.js';
import { runProgram } from './program/program.js';
import { printedContext } from './terminal/printed.js';

const context = printedContext({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

// A reader that has seen enough closes the pipe (`| head -1`). The command then ends as usual, with its cleaning up.
// Any other error of the output, such as a full disk, is reported once, whether the command fails by it or not.
let hasFailedOutput = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || hasFailedOutput) return;
    hasFailedOutput = true;
    process.exitCode = reportError(new Fault('The output cannot be written.', { cause: error }), context);
  });
}

try {
  await runProgram(process.argv.slice(2), context);
} catch (error) {
  if (!hasFailedOutput) process.exitCode = reportError(error, context);
}
