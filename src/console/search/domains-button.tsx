import { useState } from 'preact/hooks';
import type { HomologyFilter, HomologyRelease } from '../../clients/typescript/types/homology.js';
import { count } from '../parts/format.js';
import { Failure } from '../parts/notice.js';
import { goTo, hrefTo } from '../parts/route.js';
import type { Pasted } from './fasta.js';
import { gloaming } from '../server/server.js';

interface DomainsButtonProps {
  /** Proteins of the form, with at least one. */
  readonly records: readonly Pasted[];
  readonly release: HomologyRelease;
  readonly filter: HomologyFilter | undefined;
}

/** Starts a run that finds the domains of the proteins; nothing for a database whose targets are no families. */
export function DomainsButton({ records, release, filter }: DomainsButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error>();
  // Families have this attribute.
  if (!release.filter_fields.some(({ name }) => name === 'member_count')) return null;
  const start = (): void => {
    setBusy(true);
    setFailure(undefined);
    annotate(records, release, filter).then(goTo, (error: Error) => {
      setFailure(error);
      setBusy(false);
    });
  };
  return (
    <>
      <button type="button" class="button" disabled={isBusy} onClick={start}>
        Find {records.length > 1 ? 'their' : 'its'} domains in a run
      </button>
      {failure !== undefined && <Failure error={failure} />}
    </>
  );
}

/** Returns the address of the run. Errors  those of the client */
async function annotate(
  records: readonly Pasted[],
  { id: releaseId }: HomologyRelease,
  filter: HomologyFilter | undefined,
): Promise<string> {
  const [first, ...others] = records;
  const run = await gloaming.submit({
    endpoint: 'homology.annotate',
    label: `Domains of ${first.id}${others.length === 0 ? '' : ` and ${count(others.length)} more`}`,
    input: {
      queries: records.map(({ id, sequence }) => ({ id, sequence })),
      database_release_id: releaseId,
      ...(filter !== undefined && { filter }),
    },
  });
  return hrefTo(['runs', run.id]);
}
