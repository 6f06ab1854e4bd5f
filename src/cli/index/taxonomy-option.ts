import { Refusal } from '../../errors.js';
import type { InputFiles } from '../../build-release/sources/input-files.js';

/** The value of --taxonomy. Errors  Refusal `invalid_option` where it does not name two files */
export function readTaxonomyOption(text: string | undefined): Pick<InputFiles, 'taxonomy'> {
  if (text === undefined) return {};
  const [nodes, names, ...rest] = text.split(',');
  if (!nodes || !names || rest.length > 0) {
    throw new Refusal(
      'invalid_option',
      `--taxonomy expects two files, "nodes.dmp,names.dmp"; it is ${text}.`,
    );
  }
  return { taxonomy: { nodes, names } };
}
