/** An invalid place of the request, such as `body.filter.filters[2].op`. */
export interface FaultyPlace {
  readonly location: string;
  readonly message: string;
}

/**
 * A failed response. `/docs/errors` explains each `code`. `message` says what was expected, what was received and what
 * to do.
 */
export class GloamingError extends Error {
  override readonly name = 'GloamingError';

  constructor(
    message: string,
    /** Stable and machine-readable; `unknown_answer` if the response is not of a Gloaming server. */
    readonly code: string,
    /** HTTP status. */
    readonly status: number,
    /** Whether the identical request may succeed later. */
    readonly isRetryable: boolean,
    /** Seconds to wait before a retry, if the server names them. */
    readonly retryAfterSeconds: number | undefined,
    readonly requestId: string | undefined,
    /** Dotted path of the invalid member of the request, if there is one. */
    readonly param: string | undefined,
    /** Every invalid place of the request, if the server lists them. */
    readonly places: readonly FaultyPlace[],
    /** Machine-readable facts about this refusal. */
    readonly details: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

type Members = Readonly<Record<string, unknown>>;

/** Longest body of a failure that is read. The server's own are smaller. */
const FAILURE_MAX_BYTES = 1024 * 1024;

/**
 * Returns the error of a failed response. The response may be of any server: members of another form are left out.
 * Errors  those of reading the body
 */
export async function failureOf(response: Response): Promise<GloamingError> {
  const { status, headers } = response;
  const body = membersOf(await textOf(response));
  const error = membersOf(body['error']);
  const details = membersOf(error['details']);
  const retryAfter = headers.get('Retry-After');
  return new GloamingError(
    stringOf(error['message']) ?? stringOf(body['detail']) ?? `The server answered with status ${status}.`,
    headers.get('Service-Error-Type') ?? 'unknown_answer',
    status,
    headers.get('Service-Retryable') === 'true',
    retryAfter === null || !/^\d+$/.test(retryAfter) ? undefined : Number(retryAfter),
    headers.get('X-Request-ID') ?? undefined,
    stringOf(error['param']) || undefined,
    [error['errors'], body['errors'], details['errors']].map(placesOf).find(({ length }) => length > 0) ?? [],
    details,
  );
}

/** The beginning of the body as text, however long the body is. */
async function textOf({ body }: Response): Promise<unknown> {
  if (body === null) return undefined;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  let sizeBytes = 0;
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      sizeBytes += piece.value.length;
      if (sizeBytes > FAILURE_MAX_BYTES) return undefined;
      text += decoder.decode(piece.value, { stream: true });
    }
    return JSON.parse(text) as unknown;
  } catch (error) {
    // Not JSON: only the status is known.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Places in the form of the envelope (`loc`, `msg`) or of the other failures (`location`, `message`). */
function placesOf(value: unknown): readonly FaultyPlace[] {
  if (!Array.isArray(value)) return [];
  return value.map(membersOf).flatMap(({ loc, msg, location, message }) => {
    const place = Array.isArray(loc) ? loc.map(String).join('.') : stringOf(location);
    const why = stringOf(msg) ?? stringOf(message);
    return place === undefined || why === undefined ? [] : [{ location: place, message: why }];
  });
}
