import { createHash } from 'node:crypto';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { violation, type DeliveryCase, type Finding } from './delivery-case.ts';

/** Every subscriber that has to confirm is asked, and the last request for it has come to its end like any other message. */
export const confirmationsAreAsked = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const subscription = world.subscriptions.find(id);
    const wrong = subscription === undefined ? undefined : whatIsWrong(world, cases, subscription);
    return wrong === undefined ? [] : [violation('confirmations_are_asked', { name: id }, wrong)];
  });

const whatIsWrong = (
  world: SimulatedWorld,
  cases: readonly DeliveryCase[],
  { id, unconfirmed, expiresAt, deletedAt }: Subscription,
): string | undefined => {
  // Nobody is asked on behalf of one that is gone.
  if (unconfirmed === undefined || expiresAt !== undefined || deletedAt !== undefined) return undefined;
  if (unconfirmed.owed === true) return isLateRequest(world) ? undefined : 'it was not asked';
  const question = `confirm_${unconfirmed.tokenHash}`;
  const isSent = world.history.acceptances.some(({ record }) => record.key.messageId === question);
  const isRecorded = cases.some(({ name, record }) => name === `${question}/${id}` && record !== undefined);
  return isSent && !isRecorded ? 'its question has no record' : undefined;
};

/** A request that is written long after its caller has repeated it may ask for one more question. */
const isLateRequest = ({ faults }: SimulatedWorld): boolean =>
  faults.injected.some(({ kind, name }) => kind === 'slow' && name.startsWith('by hand'));

/** It says which subscription it is about, and has the link whose token it is named by. */
export const isQuestion = (body: string, id: string, subscriptionId: string): boolean => {
  const [, token = ''] = /\/confirm\?token=([\w-]+)"/.exec(body) ?? [];
  const hash = createHash('sha256').update(token).digest('base64url');
  return id === `confirm_${hash}` && body.includes(`"subscriptionId":"${subscriptionId}"`);
};
