import type { Table } from './table.ts';
import { conditional, expression, type Expression } from './writes.ts';
import { primaryKey } from '../../config/tables.ts';
import { type HealthChange, FAILURES_TO_DISABLE } from '../../domain/subscription/health.ts';
import type { Disabled, SubscriptionKey } from '../../domain/subscription/subscription.ts';
import type { HealthResult } from '../../ports/subscriptions.ts';
import {
  disabledItemOf,
  UNSENT_ATTRIBUTES,
  unsentAttributeOf,
  unsentItemOf,
  subscriptionItemKey,
  subscriptionOf,
} from './subscription-item.ts';

/** Writes a change of a subscription's health by one conditional request, which returns the item either way. */
export function changeHealth(
  table: Table,
  key: SubscriptionKey,
  change: HealthChange,
): Promise<HealthResult> {
  const expr = expression();
  return writeHealth(table, key, {
    conditions: [...decisionOf(change, expr), ...noUnsentEvent(change, expr), ...stateOf(change, expr)],
    update: updateOf(change, expr),
    expr,
  });
}

/** Disables a subscription and returns its stored disabled state. Undefined: it is enabled or deleted. */
export async function disable(
  table: Table,
  key: SubscriptionKey,
  disabled: Disabled,
  version: number | undefined,
): Promise<Disabled | undefined> {
  const expr = expression();
  const result = await writeHealth(table, key, {
    conditions: [isEnabled(expr), isUnchanged(version, expr)],
    update: `SET ${expr.name('disabled')} = ${expr.value(disabledItemOf(disabled))}`,
    expr,
  });
  return result.kind === 'written' ? result.subscription.disabled : result.current?.disabled;
}

type Update = { conditions: readonly string[]; update: string; expr: Expression };

async function writeHealth(
  table: Table,
  { queue, subscriptionId }: SubscriptionKey,
  { conditions, update, expr }: Update,
): Promise<HealthResult> {
  const exists = `attribute_exists(${expr.name(primaryKey.partition)})`;
  const write = table.update({
    Key: subscriptionItemKey(queue, subscriptionId),
    UpdateExpression: update,
    ConditionExpression: [exists, ...conditions].join(' AND '),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...expr.attributes(),
  });
  const result = await conditional(write);
  if (result.kind === 'written')
    return { kind: 'written', subscription: subscriptionOf(result.output.Attributes) };
  return { kind: 'refused', current: result.item && subscriptionOf(result.item) };
}

/**
 * The part of domain `healthChangeHolds` about the streak and the event. A comparison with a missing attribute is
 * false.
 */
function decisionOf(change: HealthChange, expr: Expression): string[] {
  switch (change.kind) {
    case 'pressure':
      return [isSamePressure(change.from, expr)];
    case 'warn_of_certificate': {
      const warned = expr.name('auth', 'warnedDays');
      return [
        `${expr.name('auth', 'at')} = ${expr.value(change.at)}`,
        `(attribute_not_exists(${warned}) OR ${warned} > ${expr.value(change.days)})`,
      ];
    }
    case 'begin':
      return [`attribute_not_exists(${expr.name('failing')})`, isEnabled(expr)];
    case 'count': {
      const { since, failures } = change.failing;
      return [
        isSameStreak(since, expr),
        `${failuresIn(expr)} = ${expr.value(failures - 1)}`,
        isEnabled(expr),
      ];
    }
    case 'recover':
      return [isSameStreak(change.since, expr)];
    case 'disable':
      return [
        isSameStreak(change.since, expr),
        `${failuresIn(expr)} >= ${expr.value(FAILURES_TO_DISABLE)}`,
        isEnabled(expr),
      ];
    case 'sent': {
      const attribute = unsentAttributeOf(change.unsent);
      return [
        `${expr.name(attribute, 'at')} = ${expr.value(change.unsent.at)}`,
        `${expr.name(attribute, 'event', 'type')} = ${expr.value(change.unsent.event.type)}`,
      ];
    }
  }
}

function noUnsentEvent(change: HealthChange, expr: Expression): string[] {
  return change.kind !== 'sent' && 'unsent' in change
    ? UNSENT_ATTRIBUTES.map((attribute) => `attribute_not_exists(${expr.name(attribute)})`)
    : [];
}

function stateOf(change: HealthChange, expr: Expression): string[] {
  return change.kind === 'sent' ? [] : [isUnchanged(change.version, expr)];
}

function isUnchanged(version: number | undefined, expr: Expression): string {
  return version === undefined
    ? `attribute_not_exists(${expr.name('changedAt')})`
    : `${expr.name('changedAt')} = ${expr.value(version)}`;
}

function isEnabled(expr: Expression): string {
  return `attribute_not_exists(${expr.name('disabled')})`;
}

function isSameStreak(since: number, expr: Expression): string {
  return `${expr.name('failing', 'since')} = ${expr.value(since)}`;
}

function isSamePressure(at: number | undefined, expr: Expression): string {
  return at === undefined
    ? `attribute_not_exists(${expr.name('pressure')})`
    : `${expr.name('pressure', 'at')} = ${expr.value(at)}`;
}

function failuresIn(expr: Expression): string {
  return expr.name('failing', 'failures');
}

/** Domain `applyHealthChange` as an update expression. */
function updateOf(change: HealthChange, expr: Expression): string {
  const set = (values: Record<string, unknown>): string => {
    const sets = Object.entries(values).map(([name, value]) => `${expr.name(name)} = ${expr.value(value)}`);
    return sets.length === 0 ? '' : `SET ${sets.join(', ')}`;
  };
  const eventToSend = 'unsent' in change ? unsentItemOf(change.unsent) : {};
  switch (change.kind) {
    case 'pressure':
      return set({ pressure: change.pressure, ...eventToSend });
    case 'warn_of_certificate':
      return `${set(eventToSend)}, ${expr.name('auth', 'warnedDays')} = ${expr.value(change.days)}`;
    case 'begin':
      return set({ failing: change.failing });
    case 'count':
      return set({ failing: change.failing, ...eventToSend });
    case 'recover':
      return `${set(eventToSend)} REMOVE ${expr.name('failing')}`;
    case 'disable':
      return set({ disabled: change.disabled, ...eventToSend });
    case 'sent':
      return `REMOVE ${expr.name(unsentAttributeOf(change.unsent))}`;
  }
}
