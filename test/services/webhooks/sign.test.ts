// @module-tag fast

import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { newWebhookSecret, signatureHeaders } from '#src/services/webhooks/sign.js';

it('a signature is that of the example in the documentation of Standard Webhooks', () => {
  const headers = signatureHeaders(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date('2021-02-25T15:02:10.987Z'),
    '{"test": 2432232314}',
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  );
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('a message in the time of two secrets is valid for the holder of either secret only', () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()];
  const body = '{"type":"run.completed"}';
  const headers = { ...signatureHeaders('evt_1', new Date(), body, secrets) };
  for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(newWebhookSecret()).verify(body, headers)).toThrow();
});
