import type { SqlLogin } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import type { SqlCursor } from '../sql/engine/engine.js';
import type { SqlParameter, StatementShape } from '../sql/engine/messages.js';
import { readableCatalogQuery } from './catalog-queries.js';
import { answerCommand, type CommandAnswer } from './commands.js';
import type { ServerParameters } from './parameters.js';
import type { TransactionStatus } from './wire/answers.js';
import { ProtocolFault } from './wire/protocol-fault.js';

/** Sends bytes to the client; waits until it takes more. */
export type Write = (bytes: Buffer) => Promise<void>;

export interface SessionParts {
  readonly sql: Pick<Sql, 'execute' | 'describe'>;
  readonly login: SqlLogin;
  readonly parameters: ServerParameters;
  readonly versionText: string;
  readonly write: Write;
  /** Ends with the connection. */
  readonly signal: AbortSignal;
}

/** What simple and extended queries of one session share: its transaction, its timeout, the statement at work. */
export class SessionState {
  readonly #parts: SessionParts;
  #status: TransactionStatus = 'I';
  #timeoutMs = 0;
  #cancelling = new AbortController();

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { signal } = parts;
    signal.addEventListener('abort', () => this.#cancelling.abort(signal.reason), { once: true });
  }

  /** I idle, T within a transaction, E within one that has failed. */
  get status(): TransactionStatus {
    return this.#status;
  }

  /** Starts a statement for the engine. Errors  ProtocolFault */
  async start(
    text: string,
    parameters: readonly SqlParameter[],
    formats: readonly number[],
  ): Promise<SqlCursor> {
    const { sql, login, versionText, signal } = this.#parts;
    this.#requireSound();
    // A cancellation that came before this statement is not for it.
    if (this.#cancelling.signal.aborted) this.#cancelling = new AbortController();
    signal.throwIfAborted();
    return sql.execute(login, 'postgres', {
      sql: readableCatalogQuery(text, versionText),
      parameters,
      encoding: { kind: 'postgres', formats },
      ...(this.#timeoutMs > 0 && { timeoutMs: this.#timeoutMs }),
      signal: this.#cancelling.signal,
    });
  }

  /** What a statement for the engine takes and gives, without executing it. */
  describe(text: string): Promise<StatementShape> {
    const { sql, login, versionText, signal } = this.#parts;
    return sql.describe(login, readableCatalogQuery(text, versionText), signal);
  }

  /** Executes a statement about the session; undefined where it is one for the engine. Errors  ProtocolFault */
  command(text: string): CommandAnswer | undefined {
    const answer = this.peek(text);
    if (answer?.transaction === 'begin') this.#status = 'T';
    else if (answer?.transaction === 'end') this.#status = 'I';
    else if (answer?.transaction === 'rollback') this.#status = 'T';
    else if (answer !== undefined) this.#requireSound();
    this.#timeoutMs = answer?.timeoutMs ?? this.#timeoutMs;
    return answer;
  }

  /** The same without executing it. */
  peek(text: string): CommandAnswer | undefined {
    return answerCommand(text, this.#parts.parameters);
  }

  /** A failure within a transaction is the end of it, but for its ROLLBACK. */
  fail(): void {
    if (this.#status === 'T') this.#status = 'E';
  }

  /** Ends the statement at work. */
  cancel(reason: ProtocolFault): void {
    this.#cancelling.abort(reason);
  }

  #requireSound(): void {
    if (this.#status !== 'E') return;
    throw new ProtocolFault('25P02', 'The transaction has failed; nothing is executed until its end.');
  }
}
