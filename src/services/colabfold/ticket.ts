import { Refusal } from '../../errors.js';
import { COLABFOLD_NAME_MAX_CHARACTERS, COLABFOLD_QUERIES_MAX_COUNT } from '../../limits.js';

/** Options of a client's request, parsed from the words of its `mode`. */
export interface TicketMode {
  /** `greedy` pairs a species that at least two chains have; `complete`, only a species that all chains have. */
  readonly pairing?: 'greedy' | 'complete';
  /** Whether the client requests the file of the environmental database. */
  readonly hasEnvironment: boolean;
  /** Whether rows are thinned out evenly over the range of identity if there are many. */
  readonly isFiltered: boolean;
}

/** The runs of a query over one database. */
export interface TicketSearch {
  readonly runId: string;
  /** Run for its homologs in the homolog source of the database; absent if there is no source or none are requested. */
  readonly homologsRunId?: string;
}

/** A query of a ticket with its searches, one per database. */
export interface TicketQuery {
  /** Header from the client. The block of the query begins with it. */
  readonly name: string;
  readonly searches: readonly TicketSearch[];
}

/**
 * A ticket, decoded from its id. The id is the whole ticket: its runs are stored anyway, and read access to them covers
 * the archive. Tickets therefore need no storage, sweeping or restoring.
 */
export interface Ticket {
  readonly mode: TicketMode;
  readonly queries: readonly TicketQuery[];
}

/** The digits of the runs of a search are concatenated. */
type Written = readonly [mode: string, ...queries: (readonly [name: string, ...searches: string[]])[]];

const RUN_PREFIX = 'run_';
const RUN_DIGITS = 24;
const MSA_WORDS = new Set(['env', 'all', 'nofilter']);
const PAIR_WORDS = new Set(['pairgreedy', 'paircomplete', 'env']);

/**
 * Reads `mode` of a form: words separated by hyphens.
 * Errors  Refusal `validation_failed` for a word that this route does not have
 */
export function readMode(route: 'msa' | 'pair', mode: string): TicketMode {
  const words = mode.split('-').filter(Boolean);
  const modes = route === 'pair' ? PAIR_WORDS : MSA_WORDS;
  const unknown = words.find((word) => !modes.has(word));
  if (unknown !== undefined) {
    throw new Refusal(
      'validation_failed',
      `The mode may hold ${[...modes].join(', ')}, not ${JSON.stringify(unknown.slice(0, 64))}.`,
      { param: 'mode' },
    );
  }
  if (route === 'pair') {
    const pairing = words.includes('pairgreedy') ? 'greedy' : 'complete';
    return { pairing, hasEnvironment: false, isFiltered: false };
  }
  return { hasEnvironment: words.includes('env'), isFiltered: !words.includes('nofilter') };
}

/** Encodes a ticket in characters of a URL path, about fifty for one query over one database. */
export function writeTicket({ mode, queries }: Ticket): string {
  const { pairing = '', hasEnvironment, isFiltered } = mode;
  const letters = `${pairing.charAt(0)}${hasEnvironment ? 'e' : ''}${isFiltered ? 'f' : ''}`;
  const written: Written = [
    letters,
    ...queries.map(({ name, searches }) => [name, ...searches.map(writeSearch)] as const),
  ];
  return Buffer.from(JSON.stringify(written)).toString('base64url');
}

/** Decodes a ticket. undefined for an id that writeTicket did not write. The caller checks access to the runs. */
export function readTicket(id: string): Ticket | undefined {
  const written = parse(Buffer.from(id, 'base64url').toString('utf8'));
  if (!isWritten(written)) return undefined;
  const [letters, ...queries] = written;
  const pairing = letters.startsWith('g') ? 'greedy' : letters.startsWith('c') ? 'complete' : undefined;
  return {
    mode: {
      ...(pairing && { pairing }),
      hasEnvironment: letters.includes('e'),
      isFiltered: letters.includes('f'),
    },
    queries: queries.map(([name, ...searches]) => ({ name, searches: searches.map(readSearch) })),
  };
}

function writeSearch({ runId, homologsRunId }: TicketSearch): string {
  const ids = homologsRunId === undefined ? [runId] : [runId, homologsRunId];
  return ids.map((id) => id.slice(RUN_PREFIX.length)).join('');
}

function readSearch(digits: string): TicketSearch {
  const [runId, homologsRunId] = [digits.slice(0, RUN_DIGITS), digits.slice(RUN_DIGITS)].map(
    (each) => RUN_PREFIX + each,
  );
  return digits.length === RUN_DIGITS ? { runId } : { runId, homologsRunId };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isWritten(value: unknown): value is Written {
  if (!Array.isArray(value)) return false;
  const [letters, ...queries] = value as readonly unknown[];
  const isMode = typeof letters === 'string' && /^[gc]?e?f?$/.test(letters);
  const isBounded = queries.length > 0 && queries.length <= COLABFOLD_QUERIES_MAX_COUNT;
  return isMode && isBounded && queries.every(isWrittenQuery);
}

const WRITTEN_SEARCH = /^([0-9a-f]{24}){1,2}$/;

function isWrittenQuery(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) return false;
  const [name, ...searches] = value as readonly unknown[];
  return isName(name) && searches.every((each) => typeof each === 'string' && WRITTEN_SEARCH.test(each));
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= COLABFOLD_NAME_MAX_CHARACTERS && !/[\0\r\n]/.test(name);
}
