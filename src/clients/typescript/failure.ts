/** A place of the request that is at fault, as `body.filter.filters[2].op`. */
export interface FaultyPlace {
  readonly location: string;
  readonly message: string;
}

/**
 * An answer that is no success. `code` is one of those that `/docs/errors` explains, `message` says what was expected,
 * what came and what to do.
 */
export class GloamingError extends Error {
  override readonly name = 'GloamingError';

  constructor(
    message: string,
    /** Stable and machine-readable; `unknown_answer` where something else than a Gloaming server answered. */
    readonly code: string,
    /** Of HTTP. */
    readonly status: number,
    /** Whether the identical request may succeed later. */
    readonly isRetryable: boolean,
    /** Seconds to wait before that, where the server says so. */
    readonly retryAfterSeconds: number | undefined,
    readonly requestId: string | undefined,
    /** The member of the request that is at fault, as a dotted path, where one is. */
    readonly param: string | undefined,
    /** Every place of the request that is wrong, where the server lists them. */
    readonly places: readonly FaultyPlace[],
    /** Facts about this refusal. */
    readonly details: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

/** The three bodies in which failures come: problem, envelope and that of the homology route. */
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

/** What an answer that is no success says. */
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
    // Its status is all there is to tell.
    return {};
  }
}
