import type { Command } from 'commander';

/** Everything outside the process that a command uses, so that tests can replace it. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Each command file exports one such function, which adds its command to the program. */
export type RegisterCommand = (program: Command, context: CommandContext) => void;
