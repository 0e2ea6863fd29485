import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { Acceptance, SeenRequest, Write } from '../history.ts';
import { isNeededBy } from '../partition.ts';
import { START } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/** A violated property of a run. */
export type Finding = {
  kind: 'lost' | 'unexplained_duplicate' | 'violation';
  invariant: string;
  subject: string;
  detail: string;
};

/** Everything recorded about one delivery after a run. */
export type DeliveryCase = ReturnType<typeof deliveryCases>[number];

export type Invariant = (one: DeliveryCase) => Finding[];

export const deliveryCases = (world: SimulatedWorld) => {
  const { history } = world;
  const writes = Map.groupBy(history.writes, ({ delivery }) => delivery);
  const requests = Map.groupBy(history.requests, ({ delivery }) => delivery);
  const grants = Map.groupBy(history.grants, ({ delivery }) => delivery);
  const wakeUps = Map.groupBy(history.wakeUps, ({ delivery }) => delivery);
  return [...new Set([...writes.keys(), ...requests.keys(), ...wakeUps.keys()])].map((name) => {
    const [messageId = '', subscriptionId = ''] = name.split('/');
    const written = writes.get(name) ?? [];
    return {
      world,
      name,
      messageId,
      subscriptionId,
      /** The last written record. */
      record: written.at(-1)?.after,
      writes: written,
      requests: requests.get(name) ?? [],
      /** Every granted right to make one request. */
      grants: grants.get(name) ?? [],
      wakeUps: wakeUps.get(name) ?? [],
    };
  });
};

/** The acceptance of a delivery's message. */
export const acceptanceOf = ({ world, messageId, record }: DeliveryCase): Acceptance | undefined =>
  world.history.acceptances.find(
    (acceptance) =>
      acceptance.record.key.messageId === messageId && acceptance.record.acceptedAt === record?.acceptedAt,
  );

/** The delivery's record at a time; undefined if it did not exist yet. */
export const recordAt = ({ writes }: DeliveryCase, time: number): Delivery | undefined =>
  writes.findLast(({ at }) => at <= time)?.after;

/** `subject`: a delivery, or the name of something else. */
export const violation = (
  invariant: string,
  subject: { name: string } | string,
  detail: string,
  kind: Finding['kind'] = 'violation',
): Finding => ({ kind, invariant, subject: typeof subject === 'string' ? subject : subject.name, detail });

/** The write that recorded a request's result as a numbered attempt. */
export const recordOf = (
  { writes }: DeliveryCase,
  request: Pick<SeenRequest, 'actor' | 'grant'>,
): Write | undefined =>
  writes.find(
    ({ transition, actor, after }) =>
      transition.name === 'record' &&
      actor === request.actor &&
      after.attempts.length === request.grant?.number,
  );

/** The write that recorded a request's result as a late result. */
export const lateRecordOf = ({ writes }: DeliveryCase, request: SeenRequest): Write | undefined =>
  writes.find(({ transition, actor }) => transition.name === 'record_late' && actor === request.actor);

/** Whether there were faults or standstills in this time. A throttled partition disturbs only `those` that need it. */
export const isDisturbed = (
  { faults, scenario }: SimulatedWorld,
  from: number,
  to: number,
  those?: DeliveryCase,
): boolean =>
  faults.injected.some(
    ({ at, partition }) =>
      at >= from &&
      at <= to &&
      (those === undefined ||
        partition === undefined ||
        isNeededBy(partition, those.messageId, those.subscriptionId)),
  ) || scenario.standstills.some((one) => START + one.from <= to && START + one.to >= from);
