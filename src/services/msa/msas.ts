import { LRUCache } from 'lru-cache';
import { canonicalSha256 } from '../../canonical.js';
import type { Msa, MsaComponent, MsaComponentRequest, MsaRequest } from '../../contract/msa.js';
import { Refusal } from '../../errors.js';
import type { MsaTables, NamedRow } from '../../store/tables/msas.js';
import type { OpenContent } from '../../store/objects/contents.js';
import type { Objects } from '../../store/objects/objects.js';
import { releaseSnapshot } from '../search/catalog.js';
import type { RequestContext } from '../context.js';
import {
  MsaReceipts,
  withoutAlignments,
  type MsaReceiptsDependencies,
  type OpenReceipt,
} from './receipts.js';
import { componentRow, type PossibleRow } from './rows.js';
import { decideParameters, selectRows, warningsOf } from './select-rows.js';
import { a3mPieces, asJsonString, encodePieces, jsonBytesOf, prefersJson } from './text.js';
import type { BytesReply, EmptyReply, Reply } from '../reply.js';

interface MsasDependencies extends MsaReceiptsDependencies {
  readonly tables: MsaTables<MsaComponent, Msa>;
  readonly objects: Objects;
  readonly now: () => Date;
}

/** Bound on alignments that are found by their request without a new build. */
const BUILT_MAX_COUNT = 10_000;
const IMMUTABLE = 'private, max-age=31536000, immutable';

/** Multiple sequence alignments: immutable, named by the hash of content and parameters. */
export class Msas {
  readonly #tables: MsaTables<MsaComponent, Msa>;
  readonly #objects: Objects;
  readonly #now: () => Date;
  readonly #receipts: MsaReceipts;
  /** Digest of a request → id of its alignment. */
  readonly #built = new LRUCache<string, string>({ max: BUILT_MAX_COUNT });

  constructor({ tables, objects, now, ...sources }: MsasDependencies) {
    this.#tables = tables;
    this.#objects = objects;
    this.#now = now;
    this.#receipts = new MsaReceipts(sources);
  }

  /** Errors  the refusals of the route */
  async place(
    { receipt_id, target_id }: MsaComponentRequest,
    context: RequestContext,
  ): Promise<Reply<MsaComponent>> {
    const receipt = await this.#receipts.open(receipt_id, context);
    const at = receipt.candidates.findIndex(({ id }) => id === target_id);
    if (at === -1) throw notInReceipt(target_id);
    const row = receipt.rows[at];
    if (row === undefined) throw withoutAlignments();
    const named = {
      format: 'gloaming-msa-component/1',
      receipt_id,
      release_id: receipt.release.releaseId,
      query: receipt.query,
      ...row.write(),
    } as const;
    const id = `msac_${canonicalSha256(named)}`;
    const content: MsaComponent = { object: 'msa_component', id, ...named };
    const createdAt = this.#now().toISOString();
    const isCacheHit = isOf(this.#tables.components.get(id), context);
    await this.#tables.components.persist({ id, createdAt, content }, context.organizationId);
    return { value: content, ...traces(id, [receipt_id], receipt, isCacheHit) };
  }

  /** Errors  the refusals of the route; the signal's reason */
  async build(request: MsaRequest, context: RequestContext): Promise<Reply<Msa>> {
    const { receipt_id, component_ids, ...options } = request;
    const receipt = await this.#receipts.open(receipt_id, context);
    const components = component_ids?.map((id, at) => this.#componentRow(id, at + 1, receipt.query, context));
    const possible = components ?? receipt.rows;
    const aligned = possible.filter((row) => row !== undefined);
    const parameters = decideParameters(aligned, options);
    const inputs = [receipt_id, ...(component_ids ?? [])];
    // Equal inputs build equal alignments. The ids of components determine their rows.
    const key = canonicalSha256({ request, calibration_id: receipt.calibrationId ?? null });
    const built = this.#built.get(key);
    const existing = built === undefined ? undefined : this.#tables.msas.get(built);
    // An existing alignment is granted to the organization that builds it again.
    if (isOf(existing, context)) return replyOf(existing.content.manifest, inputs, receipt, true);
    const selected = await selectRows(aligned, receipt.sequence, parameters, context.signal);
    const pieces = a3mPieces(receipt.sequence, selected.rows);
    const received = await this.#objects.receive(encodePieces(pieces), Infinity);
    const { sha256, sizeBytes } = received;
    const content = msaOf({
      format: 'gloaming-msa/1',
      receipt_id,
      release_id: receipt.release.releaseId,
      query: receipt.query,
      ...(component_ids && { component_ids }),
      parameters,
      ...(receipt.calibrationId && { calibration_id: receipt.calibrationId }),
      candidate_count: possible.length,
      unaligned_count: possible.length - aligned.length,
      filtered_count: selected.filteredCount,
      duplicate_count: selected.duplicateCount,
      redundant_count: selected.redundantCount,
      beyond_depth_count: selected.beyondDepthCount,
      row_count: pieces.length,
      a3m_sha256: sha256,
      a3m_bytes: sizeBytes,
    });
    const stored = { manifest: content, sha256, sizeBytes, jsonBytes: jsonBytesOf(pieces) };
    const row = { id: content.id, createdAt: this.#now().toISOString(), content: stored };
    const isCacheHit = isOf(this.#tables.msas.get(content.id), context);
    await this.#tables.msas.persist(row, received, context.organizationId);
    this.#built.set(key, content.id);
    return replyOf(content, inputs, receipt, isCacheHit);
  }

  /** Refuses a build as far as that is possible without work. Errors  some refusals of the route */
  check({ receipt_id, component_ids = [] }: MsaRequest, context: RequestContext): void {
    const { query } = this.#receipts.read(receipt_id, context);
    for (const [at, id] of component_ids.entries()) this.#componentRow(id, at + 1, query, context);
  }

  /** Returns the text. Errors  the refusals of the route */
  read(
    id: string,
    headers: Readonly<Record<string, string | undefined>>,
    { organizationId }: RequestContext,
  ): BytesReply | EmptyReply {
    const { content } = visible(this.#tables.msas.get(id), organizationId, () => absentMsa(id));
    const isJson = prefersJson(headers.Accept);
    const etag = `"${content.sha256}${isJson ? '-json' : ''}"`;
    const common = {
      headers: { ETag: etag, Vary: 'Accept, Authorization', 'Cache-Control': IMMUTABLE },
    };
    if (isKnown(headers['If-None-Match'], etag)) return { ...common, status: 304 };
    return {
      ...common,
      bytes: {
        contentType: isJson ? 'application/json' : 'text/plain; charset=utf-8',
        sizeBytes: isJson ? content.jsonBytes : content.sizeBytes,
        open: () => this.#openText(id, isJson),
      },
    };
  }

  #openText(id: string, isJson: boolean): OpenContent {
    const opened = this.#tables.msas.open(id);
    if (opened === undefined) throw absentMsa(id);
    return isJson ? { ...opened, bytes: asJsonString(opened.bytes) } : opened;
  }

  #componentRow(
    id: string,
    rank: number,
    query: Msa['query'],
    { organizationId }: RequestContext,
  ): PossibleRow {
    const row = this.#tables.components.get(id);
    const { content } = visible(row, organizationId, () => absentComponent(id));
    if (content.query.sha256 !== query.sha256) throw otherQuery(id);
    return componentRow(content, rank);
  }
}

function msaOf(named: Omit<Msa, 'object' | 'id'>): Msa {
  return { object: 'msa', id: `msa_${canonicalSha256(named)}`, ...named };
}

function isOf<Content>(
  row: NamedRow<Content> | undefined,
  { organizationId }: RequestContext,
): row is NamedRow<Content> {
  return row?.organizationIds.includes(organizationId) ?? false;
}

function replyOf(
  content: Msa,
  inputs: readonly string[],
  receipt: OpenReceipt,
  isCacheHit: boolean,
): Reply<Msa> {
  const warnings = [
    ...warningsOf(content.parameters),
    ...(content.row_count === 1 ? [queryOnly(content)] : []),
  ];
  return { value: content, ...traces(content.id, inputs, receipt, isCacheHit), warnings };
}

function traces(id: string, inputs: readonly string[], receipt: OpenReceipt, isCacheHit: boolean) {
  const { release, tools, calibrationId } = receipt;
  return {
    isCacheHit,
    databaseSnapshots: [releaseSnapshot(release)],
    toolVersions: tools,
    generatedObjectIds: isCacheHit ? [] : [id],
    inputRefs: inputs,
    objectRefs: [...inputs, release.releaseId, ...(calibrationId === undefined ? [] : [calibrationId])],
    outputRefs: [id],
  };
}

function visible<Content>(
  row: NamedRow<Content> | undefined,
  organizationId: string,
  absent: () => Refusal,
): NamedRow<Content> {
  if (row === undefined) throw absent();
  if (row.organizationIds.includes(organizationId)) return row;
  throw new Refusal('permission_denied', 'It belongs to another organization.');
}

/** Weak comparison of entity tags. Source  RFC 9110, section 13.1.2 */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes('*') || tags.includes(etag);
}

function queryOnly(content: Msa) {
  const { candidate_count, unaligned_count, filtered_count, duplicate_count, redundant_count } = content;
  return {
    code: 'msa_query_only',
    message:
      'The alignment has no row but the query: a structure predicted from it uses no evolution. Search with a ' +
      'higher limit, or ask for less coverage, a greater E-value and a wider range of identity.',
    details: { candidate_count, unaligned_count, filtered_count, duplicate_count, redundant_count },
  };
}

function notInReceipt(targetId: string): Refusal {
  return new Refusal(
    'msa_target_not_in_receipt',
    `The receipt has no candidate with the id ${targetId.slice(0, 64)}.`,
    { param: 'target_id' },
  );
}

function absentComponent(id: string): Refusal {
  return new Refusal('msa_component_not_found', `No component has the id ${id}.`, { param: 'component_ids' });
}

function otherQuery(id: string): Refusal {
  return new Refusal(
    'msa_components_mismatch',
    `The component ${id} was placed over another query than that of the receipt.`,
    { param: 'component_ids' },
  );
}

function absentMsa(id: string): Refusal {
  return new Refusal('msa_not_found', `No alignment has the id ${id}.`);
}
