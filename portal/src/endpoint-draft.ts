import { addressIn, changedAddress } from '../../console/src/parts/address-fields.tsx';
import { numberIn, toFieldText } from '../../console/src/parts/fields.tsx';
import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';
import type { PortalSession } from './session.ts';

/** An endpoint in its form, by the paths of its fields in the API. `event_types`: undefined for all events. */
export type EndpointDraft = {
  subscriber: string;
  name: string;
  event_types: readonly string[] | undefined;
  max_per_second: string;
};

/** The fields of the form. */
export const ENDPOINT_FIELDS = ['subscriber', 'name', 'event_types', 'max_per_second'] as const;

type Shown = Pick<SubscriptionView, 'subscriber' | 'name' | 'options'>;

/** A new endpoint gets all that the link allows. */
export function newEndpoint({
  event_types,
  limits,
}: Pick<PortalSession, 'event_types' | 'limits'>): EndpointDraft {
  return { subscriber: '', name: '', event_types, max_per_second: toFieldText(limits.per_second) };
}

/** `allowed`: the event types of the link, to which an endpoint with all events is limited once its options change. */
export function endpointDraft(
  { subscriber, name = '', options }: Shown,
  { event_types: allowed }: Pick<PortalSession, 'event_types'> = {},
): EndpointDraft {
  const { event_types = allowed, max_per_second } = options;
  return { subscriber, name, event_types, max_per_second: toFieldText(max_per_second) };
}

/** The error that the form can see without the API. */
export function typesFault({ event_types }: EndpointDraft): string | undefined {
  return event_types?.length === 0 ? 'Choose at least one event.' : undefined;
}

export function buildCreation(draft: EndpointDraft): Record<string, unknown> {
  return { ...addressIn(draft), options: optionsIn(draft) };
}

/**
 * The PATCH that makes the changes of the form; undefined if there are none. Options that a customer may not set stay,
 * because the portal merges them; the filter has no field.
 */
export function buildPatch(
  before: Shown,
  draft: EndpointDraft,
  portal: Pick<PortalSession, 'event_types'> = {},
): Record<string, unknown> | undefined {
  const [options, stored] = [optionsIn(draft), optionsIn(endpointDraft(before, portal))];
  const patch = {
    ...changedAddress(before, draft),
    ...(JSON.stringify(options) !== JSON.stringify(stored) && {
      options: { filter: before.options.filter, ...options },
    }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function optionsIn({ event_types, max_per_second: rate }: EndpointDraft): Record<string, unknown> {
  // Undefined, which JSON leaves out: not set.
  return { event_types, max_per_second: numberIn(rate) };
}
