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

/** Union of the three failure bodies: problem, envelope and that of the homology route. */
interface FailureBody {
  readonly detail?: string;
  readonly errors?: readonly FaultyPlace[];
  readonly error?: {
    readonly message?: string;
    readonly param?: string;
    readonly details?: Readonly<Record<string, unknown>>;
    readonly errors?: readonly { readonly loc: readonly string[]; readonly msg: string }[];
  };
}

/**
 * Returns the error of a failed response.
 * Errors  those of reading the body
 */
export async function failureOf(response: Response): Promise<GloamingError> {
  const { status, headers } = response;
  const { detail, errors, error } = bodyOf(await response.text());
  const listed = error?.details?.['errors'] as readonly FaultyPlace[] | undefined;
  const placed = error?.errors?.map(({ loc, msg }) => ({ location: loc.join('.'), message: msg }));
  const retryAfter = headers.get('Retry-After');
  return new GloamingError(
    error?.message ?? detail ?? `The server answered with status ${status}.`,
    headers.get('Service-Error-Type') ?? 'unknown_answer',
    status,
    headers.get('Service-Retryable') === 'true',
    retryAfter === null || !/^\d+$/.test(retryAfter) ? undefined : Number(retryAfter),
    headers.get('X-Request-ID') ?? undefined,
    error?.param === '' ? undefined : error?.param,
    placed ?? errors ?? (Array.isArray(listed) ? listed : []),
    error?.details ?? {},
  );
}

function bodyOf(text: string): FailureBody {
  try {
    return JSON.parse(text) as FailureBody;
  } catch {
    // Not JSON: only the status is known.
    return {};
  }
}
