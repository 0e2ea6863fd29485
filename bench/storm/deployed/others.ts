import { setTimeout as pause } from 'node:timers/promises';
import { waitsOf, type Waits } from '../figures.ts';
import { requested } from './requested.ts';
import { pathOf, type StormySystem } from './stormy-system.ts';

/** Between two messages, in milliseconds. */
const APART_MS = 250;

/**
 * Publishes one message after another to the others' queue for as long as `goesOn`, and waits until all have come. A wait is from
 * before a message is sent until its request is there.
 */
export const othersWait = async (
  system: StormySystem,
  prefix: string,
  goesOn: (sent: number) => boolean,
): Promise<Waits> => {
  const sentAt = new Map<string, number>();
  while (goesOn(sentAt.size)) {
    const [id, now] = [`${prefix}-${sentAt.size}`, Date.now()];
    sentAt.set(id, now);
    await system.publish('others', [id]);
    await pause(Math.max(0, now + APART_MS - Date.now()), undefined, { signal: system.signal });
  }
  const cameAt = (): [id: string, at: number][] =>
    system.receiver
      .received(pathOf('others'))
      .toReversed()
      .map(({ headers, arrivedAt }) => [String(headers['webhook-id']), arrivedAt]);
  const firstAt = (): Map<string, number> => new Map(cameAt().filter(([id]) => sentAt.has(id)));
  await requested(system, sentAt.size, () => firstAt().size);
  const at = firstAt();
  return waitsOf([...sentAt].map(([id, sent]) => (at.get(id) ?? Infinity) - sent));
};
