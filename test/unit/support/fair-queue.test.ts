import { describe, expect, it } from 'vitest';
import { visibleMessages } from '../../support/visible-messages.ts';

type Message = { group?: string };

/** A fair queue whose clock stands still. `taken`: the groups of the messages that it returns. */
const fairQueue = () => {
  const time = { now: 0 };
  const visible = visibleMessages<Message>(
    () => time.now,
    ({ group }) => group,
  );
  return {
    time,
    visible,
    send: (count: number, group?: string): void => {
      for (let index = 0; index < count; index += 1) visible.add(group === undefined ? {} : { group });
    },
    taken: (most: number): string[] => visible.take(most).map(({ group = 'none' }) => group),
  };
};

const times = (count: number, group: string): string[] => Array.from({ length: count }, () => group);

describe('the modelled fair queue', () => {
  it('returns messages in the order of arrival while no tenant is noisy', () => {
    const { send, taken } = fairQueue();
    send(20, 'a');
    send(1, 'b');
    send(9, 'a');

    expect(taken(30)).toEqual([...times(20, 'a'), 'b', ...times(9, 'a')]);
  });

  it('returns quiet tenants first while one tenant has thirty messages and over a tenth of all in flight', () => {
    const { send, taken, visible } = fairQueue();
    send(100, 'noisy');
    taken(30);
    send(2, 'quiet');
    send(1);

    expect(taken(5)).toEqual(['quiet', 'quiet', 'none', 'noisy', 'noisy']);
    expect(visible.length).toBe(68);
  });

  it('returns quiet tenants first while one tenant had over a tenth of the processing time of the last minute', () => {
    const { send, taken, visible, time } = fairQueue();
    send(10, 'slow');
    send(10, 'quick');
    const [slow] = visible.take(1);
    send(1, 'quick');
    if (slow !== undefined) visible.processed(slow, 15_000);

    expect(taken(11)).toEqual(times(11, 'quick'));
    time.now += 10 * 60_000;
    send(1, 'quick');
    expect(taken(1)).toEqual(['slow']);
  });

  it('returns the noisy tenant with the fewest messages in flight before other noisy ones', () => {
    const { send, taken } = fairQueue();
    send(100, 'a');
    taken(60);
    send(100, 'b');
    taken(40);

    expect(taken(5)).toEqual(times(5, 'b'));
  });

  it('treats a tenant as quiet again when its backlog is consumed', () => {
    const { send, taken } = fairQueue();
    send(40, 'noisy');
    taken(30);
    send(1, 'quiet');
    expect(taken(11)).toEqual(['quiet', ...times(10, 'noisy')]);
    taken(1);
    send(1, 'late');
    send(1, 'noisy');
    send(1, 'late');

    expect(taken(2)).toEqual(['late', 'late']);
  });
});
