import type { MsaRunSummary } from '../../contract/runs/run-kinds.js';
import type { MsaRequest } from '../../contract/msa.js';
import { MSA_UNITS } from '../billing/metering.js';
import type { Msas } from '../msa/msas.js';
import { defineRunKind, type RunKind } from '../runs/run-kind.js';

/** `sequences.msa.build`: the work of `POST /v1/sequences/msa/a3m` as a run. */
export function msaRuns(msas: Pick<Msas, 'check' | 'build'>): RunKind {
  return defineRunKind<'sequences.msa.build', MsaRequest>({
    key: 'sequences.msa.build',
    async prepare(input, context) {
      msas.check(input, context);
      const { receipt_id: receiptId, component_ids: componentIds = [] } = input;
      return { plan: input, totalCount: 1, traces: { inputRefs: [receiptId, ...componentIds] } };
    },
    // The alignment is named by its content. After a crash before the end of the run, it is built again.
    async *execute(plan, { context }) {
      const { value: msa, warnings = [], ...reply } = await msas.build(plan, context);
      const summary: MsaRunSummary = { object: 'msa_build_summary', msa, warnings: [...warnings] };
      const { databaseSnapshots, toolVersions, objectRefs, isCacheHit } = reply;
      const traces = { databaseSnapshots, toolVersions, objectRefs, isCacheHit };
      return { rows: [], doneCount: 1, summarise: () => summary, billableUnits: MSA_UNITS, traces };
    },
  });
}
