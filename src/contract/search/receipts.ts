import { Type, type Static } from '@sinclair/typebox';
import { envelopeOf } from '../grammar/envelope.js';
import { defineRoute } from '../grammar/route.js';
import { closed, constant, count, moment, named, openObject, sha256, text } from '../grammar/schema.js';

export const ReceiptId = text('Receipt id, derived from the content.', { pattern: '^rcpt_[0-9a-f]{64}$' });

export const Receipt = named(
  'Receipt',
  closed(
    {
      object: constant('receipt'),
      id: ReceiptId,
      sha256: sha256('SHA-256 of the canonical JSON of `content`.'),
      bytes: count('Length of the canonical JSON of `content`.'),
      created_at: moment('Time when the receipt was first stored.'),
      content: openObject(
        'Inputs, settings and results of the computation. Its member `format` names its version.',
      ),
    },
    { chosen: true },
  ),
);

export const getReceipt = defineRoute({
  operationId: 'receipts.get',
  method: 'GET',
  path: '/v1/receipts/{receipt_id}',
  tag: 'receipts',
  summary: 'Read a receipt',
  description:
    'Returns the record of the inputs, settings and results of a computation. Its id contains its hash.',
  params: Type.Object({ receipt_id: ReceiptId }, { additionalProperties: false }),
  success: { status: 200, schema: envelopeOf('ReceiptEnvelope', Receipt), description: 'The receipt.' },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['receipt_not_found', 'permission_denied'],
});

export type Receipt = Static<typeof Receipt>;
