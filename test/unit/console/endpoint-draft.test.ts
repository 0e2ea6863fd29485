import { describe, expect, it } from 'vitest';
import { buildCreation, buildPatch, endpointDraft, newEndpoint } from '../../../portal/src/endpoint-draft.ts';

const SHOWN = {
  subscriber: 'https://acme.example.com/hooks',
  options: { event_types: ['order.created'], filter: { total: [{ numeric: ['>', 100] }] } },
};

describe('the form of an endpoint', () => {
  it('creates an endpoint with the events and the rate that the link allows', () => {
    const draft = newEndpoint({
      event_types: ['order.created'],
      limits: { endpoints: 10, per_second: 20 },
    });
    expect(buildCreation({ ...draft, subscriber: ' https://acme.example.com/hooks ' })).toEqual({
      subscriber: 'https://acme.example.com/hooks',
      options: { event_types: ['order.created'], max_per_second: 20 },
    });
  });

  it('changes nothing without a change', () => {
    expect(buildPatch(SHOWN, endpointDraft(SHOWN))).toBeUndefined();
  });

  it('sends a change of one field only', () => {
    expect(buildPatch(SHOWN, { ...endpointDraft(SHOWN), name: 'Warehouse' })).toEqual({ name: 'Warehouse' });
    expect(buildPatch({ ...SHOWN, name: 'Warehouse' }, endpointDraft(SHOWN))).toEqual({ name: null });
    const [all, link] = [{ ...SHOWN, options: {} }, { event_types: ['order.paid'] }];
    const draft = endpointDraft(all, link);
    expect(draft).toMatchObject(link);
    expect(buildPatch(all, draft, link)).toBeUndefined();
    expect(buildPatch(all, { ...draft, max_per_second: '5' }, link)).toEqual({
      options: { ...link, max_per_second: 5 },
    });
  });

  it('keeps the filter when the events change', () => {
    expect(
      buildPatch(SHOWN, { ...endpointDraft(SHOWN), event_types: undefined, max_per_second: '5' }),
    ).toEqual({
      options: { filter: SHOWN.options.filter, max_per_second: 5 },
    });
  });

  it('sends a rate that is not a number as it is, so that the API names the fault', () => {
    expect(buildPatch(SHOWN, { ...endpointDraft(SHOWN), max_per_second: 'many' })).toMatchObject({
      options: { max_per_second: 'many' },
    });
  });
});
