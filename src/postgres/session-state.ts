import type { SqlLogin } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import type { SqlCursor } from '../sql/engine/engine.js';
import type { SqlParameter, StatementShape } from '../sql/engine/messages.js';
import { readableCatalogQuery } from './catalog-queries.js';
import { answerCommand, type CommandAnswer } from './commands.js';
import type { ServerParameters } from './parameters.js';
import type { TransactionStatus } from './wire/answers.js';
import { ProtocolFault } from './wire/protocol-fault.js';

/** Sends bytes to the client, and waits until the socket accepts more. */
export type Write = (bytes: Buffer) => Promise<void>;

export interface SessionDependencies {
  readonly sql: Pick<Sql, 'execute' | 'describe'>;
  readonly login: SqlLogin;
  readonly parameters: ServerParameters;
  readonly versionText: string;
  readonly write: Write;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
}

/** State that simple and extended queries of a session share: transaction, timeout and running statement. */
export class SessionState {
  readonly #dependencies: SessionDependencies;
  #status: TransactionStatus = 'I';
  #timeoutMs = 0;
  #cancelling = new AbortController();

  constructor(dependencies: SessionDependencies) {
    this.#dependencies = dependencies;
    const { signal } = dependencies;
    signal.addEventListener('abort', () => this.#cancelling.abort(signal.reason), { once: true });
  }

  /** I without a transaction, T within one, E within a failed one. */
  get status(): TransactionStatus {
    return this.#status;
  }

  /** Starts a statement of the engine. Errors  ProtocolFault */
  async start(
    text: string,
    parameters: readonly SqlParameter[],
    formats: readonly number[],
  ): Promise<SqlCursor> {
    const { sql, login, versionText, signal } = this.#dependencies;
    this.#requireSound();
    // An earlier cancellation does not apply to this statement.
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

  /** Returns parameters and columns of an engine statement without executing it. */
  describe(text: string): Promise<StatementShape> {
    const { sql, login, versionText, signal } = this.#dependencies;
    return sql.describe(login, readableCatalogQuery(text, versionText), signal);
  }

  /**
   * Executes a statement about the session. Returns undefined if the statement is for the engine.
   * Errors  ProtocolFault
   */
  command(text: string): CommandAnswer | undefined {
    const answer = this.peek(text);
    if (answer?.transaction === 'begin') this.#status = 'T';
    else if (answer?.transaction === 'end') this.#status = 'I';
    else if (answer?.transaction === 'rollback') this.#status = 'T';
    else if (answer !== undefined) this.#requireSound();
    this.#timeoutMs = answer?.timeoutMs ?? this.#timeoutMs;
    return answer;
  }

  /** Returns the answer without executing the statement. */
  peek(text: string): CommandAnswer | undefined {
    return answerCommand(text, this.#dependencies.parameters);
  }

  /** Marks the transaction as failed. A failed transaction accepts only its end. */
  fail(): void {
    if (this.#status === 'T') this.#status = 'E';
  }

  /** Cancels the running statement. */
  cancel(reason: ProtocolFault): void {
    this.#cancelling.abort(reason);
  }

  #requireSound(): void {
    if (this.#status !== 'E') return;
    throw new ProtocolFault('25P02', 'The transaction has failed. End it with ROLLBACK first.');
  }
}
