import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { conditional, expression, type Expression } from './writes.ts';
import { primaryKey } from '../../config/tables.ts';
import { type HealthChange, FAILURES_TO_DISABLE } from '../../domain/subscription/health.ts';
import type { Disabled } from '../../domain/subscription/subscription.ts';
import type { HealthResult } from '../../ports/subscriptions.ts';
import { subscriptionItemKey, subscriptionOf } from './subscription-item.ts';

export type SubscriptionPlace = { tableName: string; queue: string; subscriptionId: string };

/** Writes a change of a subscription's health by one conditional request, which returns the item either way. */
export function changeHealth(
  client: DynamoDBDocument,
  place: SubscriptionPlace,
  change: HealthChange,
): Promise<HealthResult> {
  const to = expression();
  return writeHealth(client, place, {
    conditions: [...decisionOf(change, to), ...noUnsentEvent(change, to), ...stateOf(change, to)],
    update: updateOf(change, to),
    to,
  });
}

/** Disables a subscription and returns the reason now in force. Undefined: it is not disabled, or it is gone. */
export async function disable(
  client: DynamoDBDocument,
  place: SubscriptionPlace,
  disabled: Disabled,
  changedAt: number | undefined,
): Promise<Disabled | undefined> {
  const to = expression();
  const result = await writeHealth(client, place, {
    conditions: [isEnabled(to), isUnchanged(changedAt, to)],
    update: `SET ${to.name('disabled')} = ${to.value({ reason: disabled.reason, at: disabled.at })}`,
    to,
  });
  return result.kind === 'written' ? result.subscription.disabled : result.current?.disabled;
}

type Update = { conditions: readonly string[]; update: string; to: Expression };

async function writeHealth(
  client: DynamoDBDocument,
  { tableName, queue, subscriptionId }: SubscriptionPlace,
  { conditions, update, to }: Update,
): Promise<HealthResult> {
  const exists = `attribute_exists(${to.name(primaryKey.partition)})`;
  const write = client.update({
    TableName: tableName,
    Key: subscriptionItemKey(queue, subscriptionId),
    UpdateExpression: update,
    ConditionExpression: [exists, ...conditions].join(' AND '),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...to.attributes(),
  });
  const result = await conditional(write);
  if (result.kind === 'written')
    return { kind: 'written', subscription: subscriptionOf(result.output.Attributes) };
  const { item } = result;
  return { kind: 'refused', current: item === undefined ? undefined : subscriptionOf(item) };
}

/** Domain `allows` as conditions. A comparison with a missing attribute is false. */
function decisionOf(change: HealthChange, to: Expression): string[] {
  switch (change.kind) {
    case 'begin':
      return [`attribute_not_exists(${to.name('failing')})`, isEnabled(to)];
    case 'count': {
      const { since, failures } = change.failing;
      return [isSameStreak(since, to), `${failuresIn(to)} = ${to.value(failures - 1)}`, isEnabled(to)];
    }
    case 'recover':
      return [isSameStreak(change.since, to)];
    case 'disable':
      return [
        isSameStreak(change.since, to),
        `${failuresIn(to)} >= ${to.value(FAILURES_TO_DISABLE)}`,
        isEnabled(to),
      ];
    case 'sent':
      return [
        `${to.name('unsent', 'at')} = ${to.value(change.unsent.at)}`,
        `${to.name('unsent', 'event', 'type')} = ${to.value(change.unsent.event.type)}`,
      ];
  }
}

function noUnsentEvent(change: HealthChange, to: Expression): string[] {
  return change.kind !== 'sent' && 'unsent' in change ? [`attribute_not_exists(${to.name('unsent')})`] : [];
}

function stateOf(change: HealthChange, to: Expression): string[] {
  return change.kind === 'sent' ? [] : [isUnchanged(change.changedAt, to)];
}

function isUnchanged(changedAt: number | undefined, to: Expression): string {
  return changedAt === undefined
    ? `attribute_not_exists(${to.name('changedAt')})`
    : `${to.name('changedAt')} = ${to.value(changedAt)}`;
}

function isEnabled(to: Expression): string {
  return `attribute_not_exists(${to.name('disabled')})`;
}

function isSameStreak(since: number, to: Expression): string {
  return `${to.name('failing', 'since')} = ${to.value(since)}`;
}

function failuresIn(to: Expression): string {
  return to.name('failing', 'failures');
}

/** Domain `changedBy` as an update expression. */
function updateOf(change: HealthChange, to: Expression): string {
  const set = (values: Record<string, unknown>): string => {
    const sets = Object.entries(values).map(([name, value]) => `${to.name(name)} = ${to.value(value)}`);
    return sets.length === 0 ? '' : `SET ${sets.join(', ')}`;
  };
  const eventToSend = 'unsent' in change ? { unsent: change.unsent } : {};
  switch (change.kind) {
    case 'begin':
      return set({ failing: change.failing });
    case 'count':
      return set({ failing: change.failing, ...eventToSend });
    case 'recover':
      return `${set(eventToSend)} REMOVE ${to.name('failing')}`;
    case 'disable':
      return set({ disabled: change.disabled, ...eventToSend });
    case 'sent':
      return `REMOVE ${to.name('unsent')}`;
  }
}
