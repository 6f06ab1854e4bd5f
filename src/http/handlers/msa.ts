import type { Msas } from '../../services/msa/msas.js';
import type { HandlersOf } from './handler.js';

export interface MsaServices {
  readonly msas: Msas;
}

export function msaHandlers({ msas }: MsaServices): HandlersOf<'sequences'> {
  return {
    'sequences.msa.components.create': ({ body }, context) => msas.place(body, context),
    'sequences.msa.a3m.create': ({ body }, context) => msas.build(body, context),
    'sequences.msa.a3m.get': async ({ params, headers }, context) =>
      msas.read(params.a3m_object_id, headers, context),
  };
}
