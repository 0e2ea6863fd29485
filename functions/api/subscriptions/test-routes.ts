import * as z from 'zod';
import { type Json, propertySource } from '../../../shared/wire/json-slice.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { messageType } from '../fields.ts';
import { bodyFault } from '../messages/request.ts';
import { queueName, subscriptionName } from '../paths.ts';
import { parsed, readOptionalJson } from '../request-json.ts';
import { type TestResult, testSubscription } from './test.ts';

export function addSubscriptionTestRoute(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  api.post('/v2/queues/:queue/subscriptions/:subscription/test', async (context) => {
    queueName(context.req.param('queue'));
    const fields = testFields(await readOptionalJson(context.req));
    const name = subscriptionName(context.req.param());
    const { kind, delivery } = triedOf(await testSubscription(dependencies, { ...name, ...fields }));
    audit(context.env.caller, { change: 'subscription_tested', ...name, messageId: delivery.key.messageId });
    const answer: z.input<typeof testedSchema> = { delivery: deliveryView(delivery) };
    return context.json(answer, kind === 'tried' ? 200 : 202);
  });
}

type Tried = Extract<TestResult, { kind: 'tried' | 'waiting' }>;

/** @throws RefusedRequest */
function triedOf(result: TestResult): Tried {
  switch (result.kind) {
    case 'tried':
    case 'waiting':
      return result;
    case 'missing':
      throw notFound('such subscription');
    case 'refused':
      throw new RefusedRequest('conflict', REFUSALS[result.why]);
  }
}

const REFUSALS: Record<Extract<TestResult, { kind: 'refused' }>['why'], string> = {
  disabled: 'the subscription is disabled and takes no requests; enable it first',
  subscription_unconfirmed: 'the subscriber has not confirmed the subscription yet and takes no requests',
};

/** The body of a test; none is an empty one. */
export const testRequestSchema = z.strictObject({
  type: messageType.exactOptional(),
  // Only its source text matters, so only that is looked at.
  data: z.unknown().exactOptional(),
});

export const testedSchema = z.object({ delivery: deliveryViewSchema });

/** `data` as its source text. @throws RefusedRequest */
function testFields(json: Json): { type?: string; data?: string } {
  const { type } = parsed(testRequestSchema, json.value);
  const data = propertySource(json, 'data');
  const faults = data === undefined ? [] : bodyFault(data, 'data');
  if (faults.length > 0) throw invalidFields(faults);
  return { ...(type !== undefined && { type }), ...(data !== undefined && { data }) };
}
