import type { Command } from 'commander';
import { addBuildCommand } from './index-build.js';
import { addCalibrateCommand } from './index-calibrate.js';
import { addDefaultCommand } from './index-default.js';
import { addGrantCommand } from './index-grant.js';
import { addListCommand } from './index-list.js';
import { addRemoveCommand } from './index-remove.js';
import { addVerifyCommand } from './index-verify.js';
import type { CommandContext } from './command.js';

/** `gloaming index build|calibrate|list|verify|default|grant|remove`. */
export function register(program: Command, context: CommandContext): void {
  const index = program
    .command('index')
    .description('databases: built from FASTA, listed, verified, removed');
  addBuildCommand(index, context);
  addCalibrateCommand(index, context);
  addListCommand(index, context);
  addVerifyCommand(index, context);
  addDefaultCommand(index, context);
  addGrantCommand(index, context);
  addRemoveCommand(index, context);
}
