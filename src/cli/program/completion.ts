import { Argument, type Command } from 'commander';
import type { CommandContext } from '../terminal/command.js';
import { SHELLS, type CompletedCommand, type Shell } from './shells.js';

/** `gloaming completion bash|zsh|fish`. The program has all commands loaded when this command runs. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their values in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((shell: Shell) => {
      context.stdout.write(SHELLS[shell](completedCommands(program)));
    });
}

const HELP = `
Examples:
  source <(gloaming completion bash)                                           (in ~/.bashrc)
  source <(gloaming completion zsh)                                            (in ~/.zshrc, after compinit)
  gloaming completion fish > ~/.config/fish/completions/gloaming.fish
`;

/** Every command of a program with its path, the program first. Hidden commands and options are left out. */
export function completedCommands(command: Command, path = command.name()): CompletedCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const options = help
    .visibleOptions(command)
    .map(({ short, long, description, argChoices, required, optional }) => ({
      names: [short, long].filter((name) => name !== undefined && name !== null),
      description,
      takesValue: required || optional,
      choices: argChoices ?? [],
    }));
  const here: CompletedCommand = {
    path,
    options,
    commands: subcommands.map((each) => ({ name: each.name(), summary: each.summary() })),
    choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  };
  return [here, ...subcommands.flatMap((each) => completedCommands(each, `${path} ${each.name()}`))];
}
