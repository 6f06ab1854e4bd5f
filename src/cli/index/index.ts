import type { Command } from 'commander';
import { addShardCommand } from '../cluster/shards.js';
import { addBuildCommand } from './build.js';
import { addCalibrateCommand } from './calibrate.js';
import { addDefaultCommand } from './default.js';
import { addFieldsCommand } from './fields.js';
import { addGrantCommand } from './grant.js';
import { addQualifyCommand } from './qualify.js';
import { addListCommand } from './list.js';
import { addRemoveCommand } from './remove.js';
import { addVerifyCommand } from './verify.js';
import { addAnnotateCommand } from './releases/annotate.js';
import { addDiffCommand } from './releases/diff.js';
import { addPruneCommand } from './releases/prune.js';
import type { CommandContext } from '../terminal/command.js';

/** `gloaming index build|shard|annotate|calibrate|qualify|list|fields|diff|verify|default|grant|prune|remove`. */
export function register(program: Command, context: CommandContext): void {
  const index = program
    .command('index')
    .description('databases: built from FASTA, listed, verified, removed');
  addBuildCommand(index, context);
  addShardCommand(index, context);
  addAnnotateCommand(index, context);
  addCalibrateCommand(index, context);
  addQualifyCommand(index, context);
  addListCommand(index, context);
  addFieldsCommand(index, context);
  addDiffCommand(index, context);
  addVerifyCommand(index, context);
  addDefaultCommand(index, context);
  addGrantCommand(index, context);
  addPruneCommand(index, context);
  addRemoveCommand(index, context);
}
