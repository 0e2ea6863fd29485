import { toSubscriber } from '../../shared/domain/subscription/destination.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { deliveryCases, recordAt, type DeliveryCase } from './invariants/delivery-case.ts';
import { START } from './scenario.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** Events that a run reached beyond its plan. Each has to occur sometimes, or its checks prove nothing. */
export function reachedBy(world: SimulatedWorld): ReadonlySet<string> {
  const cases = deliveryCases(world);
  return new Set([
    ...world.scenario.subscriptions.flatMap(({ id }) => changesReached(world, id, cases)),
    ...messageEventsReached(world),
    ...operateEventsReached(world),
    ...cases.flatMap(({ writes }) =>
      writes.flatMap(({ transition, after }) =>
        transition.name === 'cancel' ? [`cancelled: ${after.reason}`] : [],
      ),
    ),
    ...cases.flatMap(({ record }) =>
      record?.attempts.some(
        ({ result }) => result.kind === 'unanswered' && result.error === 'auth_failed',
      ) === true
        ? ['attempt without a token']
        : [],
    ),
    ...cases.flatMap(({ writes }) =>
      writes.some(({ transition }) => transition.name === 'send') ? ['sent to one that did not match'] : [],
    ),
    ...world.faults.injected.flatMap(({ partition }) =>
      partition === undefined ? [] : ['partition throttled'],
    ),
  ]);
}

/** Which fields of a subscription changed while one of its deliveries waited for a retry. */
const changesReached = (world: SimulatedWorld, id: string, cases: readonly DeliveryCase[]): string[] => {
  const own = cases.filter(({ subscriptionId }) => subscriptionId === id);
  const versions = world.subscriptions.versionsOf(id);
  return versions.flatMap(({ from, value }, index) => {
    const before = versions[index - 1]?.value;
    const isRetrying = own.some((one) => recordAt(one, from)?.status === 'retrying');
    if (before === undefined || value === undefined || !isRetrying) return [];
    return Object.entries(ASPECTS).flatMap(([what, of]) =>
      of(before) === of(value) ? [] : [`${what} in mid-schedule`],
    );
  });
};

const ASPECTS: Record<string, (subscription: Subscription) => unknown> = {
  moved: ({ destination }) => toSubscriber(destination),
  'another policy': ({ options }) => options._retry_policy,
  'another limit': ({ options }) => options.max_per_second,
  'another secret': ({ secrets }) => secrets?.[0]?.sealed,
  'marked for deletion': ({ deletedAt }) => deletedAt,
  'disabled manually or enabled again': ({ disabled }) => disabled?.reason === 'manual',
  'disabled as failing': ({ disabled }) => disabled?.reason === 'failing',
  'disabled as gone': ({ disabled }) => disabled?.reason === 'gone',
  'asked to confirm again': ({ unconfirmed }) => unconfirmed === undefined,
  throttled: ({ pressure }) => pressure?.state === 'slowed',
  'circuit opened': ({ pressure }) => pressure?.state === 'held',
  watched: ({ pressure }) => pressure?.state === 'watched',
};

const messageEventsReached = ({ history, scenario, subscriptions, messages }: SimulatedWorld): string[] => {
  const accepted = history.acceptances.filter(({ actor }) => actor.copy !== undefined);
  const repeated = accepted.filter(
    ({ record }) => (messages.find(record.key.messageId)?.duplicates ?? 0) > 0,
  );
  const isChangedBefore = (messageId: string, at: number): boolean =>
    scenario.messages.some(
      ({ id, repeats }) =>
        id === messageId &&
        repeats.some((repeat) =>
          scenario.subscriptions.some((one) =>
            subscriptions
              .versionsOf(one.id)
              .some(
                ({ from, value }) =>
                  value?.previousSelection !== undefined && from > at && from < START + repeat.at,
              ),
          ),
        ),
    );
  return [
    ...accepted.flatMap(({ record }) => (record.filtered > 0 ? ['filtered out'] : [])),
    ...accepted.flatMap(({ actor }) =>
      actor.copy?.message.data.includes('"l":[') === true ? ['long list filtered'] : [],
    ),
    ...accepted.flatMap(({ record, at }) =>
      isChangedBefore(record.key.messageId, at) ? ['interests changed before a repeat'] : [],
    ),
    ...repeated.flatMap(({ record }) => (record.body?.kind === 'stored' ? ['large message repeated'] : [])),
    ...history.erasures.map(() => 'erased'),
    ...(new Set(accepted.map(({ record }) => record.queueCreatedAt)).size > 1
      ? ['accepted in two lives']
      : []),
    ...history.acceptances.flatMap(({ actor }) => (actor.copy === undefined ? ['asked to confirm'] : [])),
    ...scenario.subscriptions.flatMap(({ id }) =>
      subscriptions.find(id)?.confirmedAt === undefined ? [] : ['confirmed later'],
    ),
  ];
};

/** Effects of operate, and operations interrupted by a crash. */
const operateEventsReached = ({ history }: SimulatedWorld): string[] =>
  history.writes.flatMap(({ actor, transition }) => {
    const [, order] = /^operation:(recovery|cancellation)/.exec(actor.name) ?? [];
    if (order === undefined) return [];
    const what = transition.name === 'reopen' ? 'reopened by operate' : 'cancelled by operate';
    return actor.invocation.killedAt === undefined ? [what] : [what, `${order} killed in the middle`];
  });
