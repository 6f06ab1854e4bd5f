/* What becomes of an appliance whose files were changed: checks, opens and uses it, and prints what each step said. */
import { openAppliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { newId } from '#src/ids.js';
import { fsck } from '#src/services/backup/fsck.js';

const [, , sequence, file] = process.argv;
const said = {};
const step = async (name, work) => {
  try {
    said[name] = await work();
  } catch (error) {
    said[name] = `${error.message}`;
  }
};
await step('fsck', async () => {
  const { findings } = await fsck({ folders: loadConfig(process.env), now: new Date() });
  return findings.map(({ kind, subject }) => `${kind} ${subject}`);
});
await step('start', async () => {
  const appliance = await openAppliance(loadConfig(process.env));
  const { signal } = new AbortController();
  const context = { requestId: newId('req'), organizationId: 'lab', keyId: 'key_1', signal, receivedAtMs: 0 };
  await step('search', async () => {
    const query = { kind: 'protein_sequence', sequence };
    const request = { query, limit: 10, guarantee: 'exhaustive' };
    const evidence = { evidence: 'pairwise_sequence_alignment', significance: 'if_available' };
    return (await appliance.homology.search({ ...request, ...evidence }, context)).value.candidates.length;
  });
  await step('names', async () => {
    return (await appliance.refs.resolve({ query: 'protein', limit: 10 }, context)).value.references.length;
  });
  await step('file', async () => {
    let bytes = 0;
    for await (const piece of appliance.storage.files.openManagedFile(file, context).bytes)
      bytes += piece.length;
    return bytes;
  });
  await appliance.close();
  return 'ok';
});
process.stdout.write(JSON.stringify(said));
