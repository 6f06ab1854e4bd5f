import { POSTGRES_LOGIN_MESSAGE_MAX_BYTES } from '../../limits.js';
import type { Frames } from './frames.js';
import { MessageReader } from './message-reader.js';
import { ProtocolFault } from './protocol-fault.js';

/* The first message of a connection. Source  PostgreSQL, "Message Formats", the messages without a type byte */

const CANCEL_REQUEST = 80_877_102;
const TLS_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const PROTOCOL_MAJOR_VERSION = 3;

export type FirstMessage =
  | { readonly kind: 'cancel'; readonly processId: number; readonly secret: number }
  | { readonly kind: 'tls' | 'gss' }
  | { readonly kind: 'startup'; readonly parameters: ReadonlyMap<string, string> };

/** Returns undefined if the client disconnected. Errors  ProtocolFault */
export async function readFirstMessage(frames: Frames): Promise<FirstMessage | undefined> {
  const frame = await frames.next('startup', POSTGRES_LOGIN_MESSAGE_MAX_BYTES);
  if (frame === undefined) return undefined;
  const reader = new MessageReader(frame.body);
  const code = reader.int32();
  if (code === CANCEL_REQUEST) return { kind: 'cancel', processId: reader.int32(), secret: reader.int32() };
  if (code === TLS_REQUEST || code === GSS_REQUEST) return { kind: code === TLS_REQUEST ? 'tls' : 'gss' };
  if (code >> 16 !== PROTOCOL_MAJOR_VERSION) {
    throw new ProtocolFault('08P01', `Protocol version ${code >> 16} is not supported; use 3.`, true);
  }
  const parameters = new Map<string, string>();
  while (reader.hasMore()) {
    const name = reader.text();
    if (name === '') break;
    parameters.set(name, reader.text());
  }
  return { kind: 'startup', parameters };
}

/** Returns the password. Errors  ProtocolFault for any other message */
export async function readPassword(frames: Frames): Promise<string | undefined> {
  const frame = await frames.next('typed', POSTGRES_LOGIN_MESSAGE_MAX_BYTES);
  if (frame === undefined) return undefined;
  if (frame.type !== 'p') throw new ProtocolFault('08P01', 'Expected a password message.', true);
  return new MessageReader(frame.body).text();
}
