import { Command, Help } from 'commander';
import type { CommandContext } from '../terminal/command.js';
import { refuseForeignCommand } from './foreign-commands.js';
import { explainOptionErrors, refuseForeignOption } from './options.js';
import { COMMANDS, FORMER_NAMES, ROOT_HELP, type CommandEntry } from './table.js';

/** This version of the program. */
const VERSION = '0.1.0';

/**
 * Runs a command line: loads the modules of the named command only. A group without a command prints its help.
 * @param words  the command line after the name of the program
 * Errors  those of the command; a wrong command line ends the process with exit code 1
 */
export async function runProgram(words: readonly string[], context: CommandContext): Promise<void> {
  const line = settled(words);
  const program = await openProgram(line[0] === 'completion' ? undefined : line, context);
  refuseForeignCommand(program, line);
  refuseForeignOption(program, line);
  await program.parseAsync(line, { from: 'user' });
}

/**
 * Makes the program with the command that `words` names, and every other command as a name with one line of help.
 * Without words, all commands are loaded.
 * Errors  those of loading a module
 */
export async function openProgram(
  words: readonly string[] | undefined,
  context: CommandContext,
): Promise<Command> {
  const program = new Command('gloaming')
    .description('Finds distant homologs of a protein by exact late-interaction search.')
    .showHelpAfterError('(see --help)')
    .configureOutput({ writeErr: (text) => context.stderr.write(text) })
    .version(VERSION)
    .configureHelp({
      subcommandDescription: (command) => command.summary() || command.description(),
      optionDescription(option) {
        const plain = Help.prototype.optionDescription.call(this, option);
        return option.mandatory ? `${plain} (required)` : plain;
      },
    })
    .helpCommand(false)
    .addHelpText('after', ROOT_HELP);
  await addCommands(program, COMMANDS, words, context);
  return program;
}

async function addCommands(
  parent: Command,
  entries: readonly CommandEntry[],
  words: readonly string[] | undefined,
  context: CommandContext,
): Promise<void> {
  const commandOf = (name: string): Command | undefined =>
    parent.commands.find((each) => each.name() === name);
  for (const { name, load, commands } of entries) {
    const isNamed = words === undefined || words[0] === name;
    // The help of a group needs no module of its commands.
    const isBareGroup = commands !== undefined && words !== undefined && !hasCommand(commands, words[1]);
    // One module may add two commands.
    if (load === undefined || !isNamed || isBareGroup || commandOf(name) !== undefined) continue;
    (await load())(parent, context);
  }
  for (const { name, summary, heading, help, commands } of entries) {
    const command = commandOf(name) ?? parent.command(name).description(summary);
    command.summary(summary).helpGroup(heading);
    explainOptionErrors(command);
    if (help !== undefined) command.addHelpText('after', help);
    if (commands === undefined) continue;
    command.helpCommand(false);
    const rest = words?.[0] === name ? words.slice(1) : [];
    await addCommands(command, commands, words && rest, context);
  }
}

function hasCommand(commands: readonly CommandEntry[], word: string | undefined): boolean {
  return commands.some(({ name }) => name === word);
}
/** Replaces former names and `help`, and asks for the help of a group that is named without a command. */
function settled(words: readonly string[]): readonly string[] {
  const at = words.slice(0, 2).indexOf('help');
  if (at === 0 || (at === 1 && isGroup(words[0]))) return settled([...words.toSpliced(at, 1), '--help']);
  const renamed = FORMER_NAMES.find(([former]) => former.every((word, index) => words[index] === word));
  const line = renamed === undefined ? words : [...renamed[1], ...words.slice(renamed[0].length)];
  return line.length === 0 || (line.length === 1 && isGroup(line[0])) ? [...line, '--help'] : line;
}

function isGroup(word: string): boolean {
  return COMMANDS.some(({ name, commands }) => name === word && commands !== undefined);
}
