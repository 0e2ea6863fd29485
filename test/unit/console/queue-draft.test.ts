import jsonPatch, { type Operation } from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { queueDraft, queueFaults, queuePatch } from '../../../console/src/pages/queue/queue-draft.ts';

const metadata = {
  _retry_policy: { maximum_delay: 60 },
  _retain_messages: 'all',
  _default_message_ttl: 3600,
  team: 'checkout',
  'a/b~c': [1],
};
const draft = queueDraft(metadata);

/** The metadata after the patch of an edit. */
const edited = (changed: Partial<typeof draft>): unknown =>
  jsonPatch.applyPatch(
    structuredClone({ metadata }),
    queuePatch(draft, { ...draft, ...changed }) as Operation[],
    true,
  ).newDocument.metadata;

describe('the patch of an edited queue', () => {
  it('is empty if nothing changed', () => {
    expect(queuePatch(draft, draft)).toEqual([]);
  });

  it('names only what changed, so that changes of others stay', () => {
    expect(queuePatch(draft, { ...draft, delay: '5', retainMessages: '' })).toEqual([
      { op: 'remove', path: '/metadata/_retain_messages' },
      { op: 'add', path: '/metadata/_default_message_delay', value: 5 },
    ]);
  });

  it('adds, changes and removes other metadata under any name', () => {
    expect(edited({ others: '{"a/b~c": [2], "note": null}' })).toEqual({
      _retry_policy: { maximum_delay: 60 },
      _retain_messages: 'all',
      _default_message_ttl: 3600,
      'a/b~c': [2],
      note: null,
    });
  });

  it('removes the policy and everything else that is emptied', () => {
    const empty = {
      ttl: ' ',
      others: '',
      retainMessages: '',
      policy: { ...draft.policy, chosen: 'none' },
    } as const;
    expect(edited(empty)).toEqual({});
  });
});

describe('the errors of the form of a queue', () => {
  it.each(['{', '[]', 'null', '{"_default_message_ttl": 5}'])('name wrong metadata: %s', (others) => {
    expect([...queueFaults({ ...draft, others }).keys()]).toEqual(['others']);
  });

  it('accept what is stored', () => {
    expect(queueFaults(draft).size).toBe(0);
  });
});
