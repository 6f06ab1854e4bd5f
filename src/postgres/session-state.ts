import type { SqlCursor } from '../sql/engine/engine.js';
import type { SqlParameter } from '../sql/engine/messages.js';
import type { TransactionStatus } from './wire/answers.js';
import type { CommandAnswer } from './commands.js';

/** Sends bytes to the client; waits until it takes more. */
export type Write = (bytes: Buffer) => Promise<void>;

/** What simple and extended queries share. */
export interface SessionState {
  /** I idle, T within a transaction, E within one that has failed. */
  status(): TransactionStatus;
  /** Starts a statement for the engine. Errors  ProtocolFault */
  start(sql: string, parameters: readonly SqlParameter[], formats: readonly number[]): Promise<SqlCursor>;
  /** Executes a statement about the session; undefined where it is one for the engine. Errors  ProtocolFault */
  command(sql: string): CommandAnswer | undefined;
  /** The same without executing it. */
  peek(sql: string): CommandAnswer | undefined;
}
