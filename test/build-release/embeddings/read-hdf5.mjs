import { openHdf5Embeddings } from '#src/build-release/embeddings/hdf5.js';
import { Refusal } from '#src/errors.js';

// Reads files of embeddings, one after the other, and prints a line for each: `read`, `refused`, or what else happened.
const [ids, ...paths] = process.argv.slice(2);
for (const path of paths) {
  let outcome = 'read';
  try {
    const embeddings = await openHdf5Embeddings(path, '');
    for (const id of ids.split(',')) {
      const shape = embeddings.shapeOf(id);
      if (shape === undefined) continue;
      const values = embeddings.read(id);
      if (values.length !== shape.residues * shape.features) outcome = `${values.length} values`;
    }
    embeddings.close();
  } catch (error) {
    const isSentence =
      error instanceof Refusal && error.code === 'invalid_embeddings' && !error.message.includes('\n');
    outcome = isSentence ? 'refused' : `${error}`.split('\n')[0];
  }
  process.stdout.write(`${outcome}\n`);
}
