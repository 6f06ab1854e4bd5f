// @module-tag fast

import { PassThrough } from 'node:stream';
import { parse } from 'pg-protocol';
import { describe, expect, it } from 'vitest';
import * as answers from '#src/postgres/wire/answers.js';
import { ProtocolFault } from '#src/postgres/wire/protocol-fault.js';

/** Parses messages with the client library of the protocol. */
async function readByClient(...messages: readonly Buffer[]): Promise<readonly object[]> {
  const stream = new PassThrough();
  const read: object[] = [];
  const done = parse(stream, (message: object) => void read.push(message));
  stream.end(Buffer.concat(messages));
  await done;
  return read;
}

describe('a client library parses an answer', () => {
  it('at the start of a session', async () => {
    const read = await readByClient(
      answers.askForPassword(),
      answers.authenticationOk(),
      answers.parameterStatus('TimeZone', 'UTC'),
      answers.backendKey(7, -2_000_000_000),
      answers.readyForQuery('T'),
    );
    expect(read).toMatchObject([
      { name: 'authenticationCleartextPassword' },
      { name: 'authenticationOk' },
      { name: 'parameterStatus', parameterName: 'TimeZone', parameterValue: 'UTC' },
      { name: 'backendKeyData', processID: 7, secretKey: -2_000_000_000 },
      { name: 'readyForQuery', status: 'T' },
    ]);
  });

  it('with rows, whose texts are counted in bytes', async () => {
    const columns = [
      { name: 'größe', type: 'VARCHAR', postgresTypeId: 25 },
      { name: 'count', type: 'BIGINT', postgresTypeId: 20 },
    ];
    const read = await readByClient(
      answers.rowDescription(columns, [0, 1]),
      answers.dataRow(['α-helix', '']),
      answers.commandComplete('SELECT 1'),
      answers.parameterDescription([25, 0]),
    );
    expect(read).toMatchObject([
      {
        name: 'rowDescription',
        fields: [
          { name: 'größe', dataTypeID: 25, dataTypeSize: -1, dataTypeModifier: -1, format: 'text' },
          { name: 'count', dataTypeID: 20, format: 'binary' },
        ],
      },
      { name: 'dataRow', fields: ['α-helix', ''] },
      { name: 'commandComplete', text: 'SELECT 1' },
      { name: 'parameterDescription', dataTypeIDs: [25, 0] },
    ]);
  });

  it('without a body', async () => {
    const read = await readByClient(
      answers.PARSE_COMPLETE,
      answers.BIND_COMPLETE,
      answers.CLOSE_COMPLETE,
      answers.NO_DATA,
      answers.PORTAL_SUSPENDED,
      answers.EMPTY_QUERY,
    );
    expect(read.map((message) => (message as { readonly name: string }).name)).toEqual([
      'parseComplete',
      'bindComplete',
      'closeComplete',
      'noData',
      'portalSuspended',
      'emptyQuery',
    ]);
  });

  it('that is a failure', async () => {
    const [ending] = await readByClient(
      answers.errorResponse(new ProtocolFault('57P01', 'The server is stopping.', true)),
    );
    expect(ending).toMatchObject({
      name: 'error',
      severity: 'FATAL',
      code: '57P01',
      message: 'The server is stopping.',
    });
  });
});
