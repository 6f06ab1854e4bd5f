import type { Command } from 'commander';
import type { CommandContext } from '../terminal/command.js';
import { openProgram } from './program.js';

/** Columns of the help in the manual. */
const HELP_COLUMNS = 96;
const HEAD = `# Command line

<!-- Written by \`npm run manual\` from the program's help. Edit the commands, not this page. -->

\`gloaming <command> --help\` prints the same text on the terminal. \`gloaming completion bash\` prints a script that
completes commands and options; zsh and fish work, too.

`;

/**
 * The page of the manual with every command and its help, in the order of the help.
 * Errors  those of loading a command
 */
export async function commandLinePage(): Promise<string> {
  const silent = { write: () => true } as unknown as CommandContext['stdout'];
  const context: CommandContext = { environment: {}, stdin: process.stdin, stdout: silent, stderr: silent };
  const program = await openProgram(undefined, context);
  return HEAD + sectionsOf(program, 2).join('\n');
}

/** A section of the command, then those of its commands one level deeper. */
function sectionsOf(command: Command, level: number): string[] {
  const path = pathOf(command);
  return [
    `${'#'.repeat(level)} ${path}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
    ...command.commands
      .filter((each) => each.name() !== 'help')
      .flatMap((each) => sectionsOf(each, command.parent === null ? level : level + 1)),
  ];
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => HELP_COLUMNS,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return help.trimEnd();
}
