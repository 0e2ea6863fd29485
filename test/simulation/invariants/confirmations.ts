import { createHash } from 'node:crypto';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { violation, type DeliveryCase, type Finding } from './delivery-case.ts';

/** Every unconfirmed subscriber is sent a confirmation request, whose delivery ends like any other. */
export const confirmationsAreRequested = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const subscription = world.subscriptions.find(id);
    const wrong = subscription === undefined ? undefined : problemOf(world, cases, subscription);
    return wrong === undefined ? [] : [violation('confirmations_are_requested', id, wrong)];
  });

const problemOf = (
  world: SimulatedWorld,
  cases: readonly DeliveryCase[],
  subscription: Subscription,
): string | undefined => {
  const { id, unconfirmed } = subscription;
  if (unconfirmed === undefined || isCalledOff(subscription, unconfirmed)) return undefined;
  if (unconfirmed.owed === true)
    return isLateRequest(world) ? undefined : 'it received no confirmation request';
  const messageId = `confirm_${unconfirmed.tokenHash}`;
  const isSent = world.history.acceptances.some(({ record }) => record.key.messageId === messageId);
  const isRecorded = cases.some(({ name, record }) => name === `${messageId}/${id}` && record !== undefined);
  return isSent && !isRecorded ? 'its confirmation request has no record' : undefined;
};

/** It is deleted or expires, or it was deleted before its caller could repeat the request for a confirmation. */
const isCalledOff = ({ expiresAt, deletedAt, restored }: Subscription, { at }: { at: number }): boolean =>
  expiresAt !== undefined || deletedAt !== undefined || (restored !== undefined && at < restored.deletedAt);

/** A slow write after its caller's repeat may require another confirmation request. */
const isLateRequest = ({ faults }: SimulatedWorld): boolean =>
  faults.injected.some(({ kind, name }) => kind === 'slow' && name.startsWith('by hand'));

/** Whether a body is the confirmation request of this subscription with a link that matches the message id. */
export const isConfirmationRequest = (body: string, id: string, subscriptionId: string): boolean => {
  const [, token = ''] = /\/confirm\?token=([\w-]+)"/.exec(body) ?? [];
  const hash = createHash('sha256').update(token).digest('base64url');
  return id === `confirm_${hash}` && body.includes(`"subscriptionId":"${subscriptionId}"`);
};
