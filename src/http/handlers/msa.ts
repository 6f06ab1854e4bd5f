import type { Budgets } from '../../services/billing/budgets.js';
import { MSA_CHARGE, type Metering } from '../../services/billing/metering.js';
import type { Msas } from '../../services/msa/msas.js';
import type { HandlersOf } from './handler.js';

export interface MsaServices {
  readonly msas: Msas;
  readonly budgets: Budgets;
  readonly metering: Metering;
}

export function msaHandlers({ msas, budgets, metering }: MsaServices): HandlersOf<'sequences'> {
  return {
    'sequences.msa.components.create': ({ body }, context) => msas.place(body, context),
    'sequences.msa.a3m.create': async ({ body }, context) => {
      budgets.requireFunds(context.organizationId);
      return metering.bill(await msas.build(body, context), context, MSA_CHARGE);
    },
    'sequences.msa.a3m.get': async ({ params, headers }, context) =>
      msas.read(params.a3m_object_id, headers, context),
  };
}
