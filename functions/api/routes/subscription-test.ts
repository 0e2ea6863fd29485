import type * as z from 'zod';
import { deliveryView } from '../../../shared/messages/delivery-view.ts';
import { testSubscription, type TestResult } from '../../../shared/pipeline/administer-test.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../error-answers.ts';
import { queueName, subscriptionName } from '../paths.ts';
import { readOptionalJson } from '../request-json.ts';
import { testFields, type testedSchema } from '../test-request.ts';

export const addSubscriptionTestRoute = (api: Api, dependencies: ApiDependencies): void => {
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
};

type Tried = Extract<TestResult, { kind: 'tried' | 'waiting' }>;

/** @throws RefusedRequest */
const triedOf = (result: TestResult): Tried => {
  switch (result.kind) {
    case 'tried':
    case 'waiting':
      return result;
    case 'missing':
      throw notFound('such subscription');
    case 'refused':
      throw new RefusedRequest('conflict', REFUSALS[result.why]);
  }
};

const REFUSALS: Record<Extract<TestResult, { kind: 'refused' }>['why'], string> = {
  disabled: 'the subscription is disabled and takes no requests; enable it first',
  subscription_unconfirmed: 'the subscriber has not confirmed the subscription yet and takes no requests',
};
