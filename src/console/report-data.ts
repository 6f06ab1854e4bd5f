import type { HomologyCandidate, HomologyCandidateSet } from '../clients/typescript/types/homology.js';
import type { FirstSort } from './result/columns.js';
import { hitOf, type ResultSet } from './result/hits.js';

/** Content of a report file, as src/cli/report/report.ts writes it. */
interface ReportFile {
  readonly format: 'gloaming-report/1';
  readonly title: string;
  readonly made_by: string;
  /** Absent in reports of earlier versions. */
  readonly manual_url?: string;
  /** Absent in reports of earlier versions, which were ordered by distance. */
  readonly sort?: FirstSort;
  readonly results: readonly {
    readonly query: ResultSet['query'];
    readonly database: HomologyCandidateSet['database'];
    readonly limit: number;
    readonly has_alignments: boolean;
    readonly database_size?: number;
    readonly is_result_limit_reached: boolean;
    readonly result_sha256: string;
    readonly candidates: readonly HomologyCandidate[];
    readonly propagation?: ResultSet['propagation'];
  }[];
}

export interface Report {
  readonly title: string;
  readonly madeBy: string;
  readonly manualUrl: string | undefined;
  readonly sort: FirstSort;
  readonly results: readonly ResultSet[];
}

export function readReport(text: string): Report {
  const {
    title,
    made_by: madeBy,
    manual_url: manualUrl,
    sort = 'rank',
    results,
  } = JSON.parse(text) as ReportFile;
  return {
    title,
    madeBy,
    manualUrl,
    sort,
    results: results.map((each) => ({
      query: each.query,
      hits: each.candidates.map(hitOf),
      database: {
        slug: each.database.slug,
        releaseId: each.database.release_id,
        targetCount: each.database.searched_target_count,
        residueCount: each.database.searched_residue_count,
      },
      settings: {
        limit: each.limit,
        hasAlignments: each.has_alignments,
        databaseSize: each.database_size,
      },
      isLimitReached: each.is_result_limit_reached,
      ...(each.propagation && { propagation: each.propagation }),
      resultSha256: each.result_sha256,
      warnings: [],
    })),
  };
}
