import type * as z from 'zod';
import { MOST_SECRETS } from '../../../shared/domain/secret-rotation.ts';
import { publicKeyText, secretText } from '../../../shared/domain/signing-secret.ts';
import { rotateSecret, type RotateResult } from '../../../shared/pipeline/administer-secrets.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../error-answers.ts';
import { isSubscriptionId, queueName } from '../paths.ts';
import { readOptionalJson } from '../request-json.ts';
import { rotationFields, type rotationAnswerSchema } from '../secret-request.ts';

export const addSecretRoutes = (api: Api, dependencies: ApiDependencies): void => {
  const { audit } = dependencies;

  api.post('/v2/queues/:queue/subscriptions/:subscription/secret/rotate', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const subscriptionId = context.req.param('subscription');
    const fields = rotationFields((await readOptionalJson(context.req)).value);
    if (!isSubscriptionId(subscriptionId)) throw notFound('such subscription');
    const rotated = rotatedOf(await rotateSecret(dependencies, { queue, subscriptionId, ...fields }));
    audit(context.env.caller, {
      change: 'secret_rotated',
      queue,
      subscriptionId,
      scheme: rotated.secret.scheme,
      ...endOf(rotated),
    });
    return context.json(answerOf(rotated));
  });
};

type Rotated = Extract<RotateResult, { kind: 'rotated' }>;

/** @throws RefusedRequest */
const rotatedOf = (result: RotateResult): Rotated => {
  switch (result.kind) {
    case 'rotated':
      return result;
    case 'no_such_subscription':
      throw notFound('such subscription');
    case 'rotated_meanwhile':
      throw new RefusedRequest('conflict', 'the secret was rotated by somebody else meanwhile');
    case 'too_many':
      throw new RefusedRequest(
        'conflict',
        `${MOST_SECRETS} secrets are in force; the next of them ends at ${new Date(result.until).toISOString()}. With graceSeconds 0 they end at once`,
      );
  }
};

const endOf = ({ previousExpiresAt }: Rotated): { previousExpiresAt?: string } =>
  previousExpiresAt === undefined ? {} : { previousExpiresAt: new Date(previousExpiresAt).toISOString() };

const answerOf = (rotated: Rotated): z.input<typeof rotationAnswerSchema> => {
  const publicKey = publicKeyText(rotated.secret);
  return {
    ...(publicKey === undefined ? { secret: secretText(rotated.secret) } : { publicKey }),
    ...endOf(rotated),
  };
};
