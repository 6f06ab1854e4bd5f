import type { Command } from 'commander';
import { addBuildCommand } from './build.js';
import { addCalibrateCommand } from './calibrate.js';
import { addDefaultCommand } from './default.js';
import { addFieldsCommand } from './fields.js';
import { addGrantCommand } from './grant.js';
import { addQualifyCommand } from './qualify.js';
import { addListCommand } from './list.js';
import { addRemoveCommand } from './remove.js';
import { addVerifyCommand } from './verify.js';
import type { CommandContext } from '../terminal/command.js';

/** `gloaming index build|calibrate|qualify|list|fields|verify|default|grant|remove`. */
export function register(program: Command, context: CommandContext): void {
  const index = program
    .command('index')
    .description('databases: built from FASTA, listed, verified, removed');
  addBuildCommand(index, context);
  addCalibrateCommand(index, context);
  addQualifyCommand(index, context);
  addListCommand(index, context);
  addFieldsCommand(index, context);
  addVerifyCommand(index, context);
  addDefaultCommand(index, context);
  addGrantCommand(index, context);
  addRemoveCommand(index, context);
}
