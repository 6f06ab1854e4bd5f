import type { Command } from 'commander';

/** What a command may touch, so that tests can hand in their own. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Each file of this folder exports one: it adds its command to the program. */
export type RegisterCommand = (program: Command, context: CommandContext) => void;
