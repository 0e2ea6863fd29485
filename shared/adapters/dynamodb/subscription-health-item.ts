import * as z from 'zod';
import type {
  Disabled,
  PendingEvent,
  Pressure,
  Subscription,
} from '../../domain/subscription/subscription.ts';
import { DISABLE_REASONS, PRESSURE_REASONS } from '../../domain/subscription/vocabulary.ts';

const disabledReasonSchema = z.enum(DISABLE_REASONS);
const pressureReasonSchema = z.enum(PRESSURE_REASONS);

type StoredDisabled = Disabled & { asked?: true };

/** `asked`: the reason is `disable_requested`. */
const disabledSchema = z
  .object({ reason: disabledReasonSchema, at: z.number(), asked: z.literal(true).exactOptional() })
  .transform(({ asked, ...disabled }): Disabled =>
    asked ? { ...disabled, reason: 'disable_requested' } : disabled,
  );

/** Version 0.1.0 refuses records with the reason `disable_requested`, so it reads `gone`. */
export function disabledItemOf({ reason, at }: Disabled): StoredDisabled {
  return reason === 'disable_requested' ? { reason: 'gone', at, asked: true } : { reason, at };
}

/** The events that version 0.1.0 can read, in `unsent`. */
const streakEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('subscription.disabled'), reason: disabledReasonSchema, at: z.number() }),
  z.object({ type: z.literal('subscription.failing'), since: z.number(), failures: z.number() }),
  z.object({ type: z.literal('subscription.recovered'), since: z.number(), at: z.number() }),
]);

const episode = { reason: pressureReasonSchema, since: z.number() };

const laterEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('subscription.certificate_expiring'), expiresAt: z.number(), days: z.number() }),
  z.object({ type: z.literal('subscription.slowed'), ...episode, until: z.number() }),
  z.object({ type: z.literal('subscription.resumed'), ...episode, at: z.number() }),
]);

const version = { at: z.number(), since: z.number() };

const stateSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('watched'), ...version }),
  z.object({
    state: z.literal('slowed'),
    perSecond: z.number(),
    line: z.number(),
    askAgainMs: z.number(),
    ...version,
  }),
  z.object({ state: z.literal('held'), ...version }),
  z.object({ state: z.literal('ramping'), line: z.number(), ...version }),
  z.object({ state: z.literal('ending'), reason: pressureReasonSchema, ...version }),
  z.object({ state: z.literal('ended'), ...version }),
]) satisfies z.ZodType<Pressure>;

/** Versions before this law stored a reason and no state. They ignore the states, and their writes are refused. */
const earlierSchema = z
  .object({ ...version, reason: pressureReasonSchema, ended: z.literal(true).exactOptional() })
  .transform(({ reason, ended, at, since }): Pressure =>
    ended ? { state: 'ended', at, since } : { state: 'ending', reason, at, since },
  );

/** A state of a later version keeps its version, so that a change of it is not refused for ever. */
const laterSchema = z.object(version).transform(({ at, since }): Pressure => ({ state: 'ended', at, since }));

const pressureSchema = z.union([stateSchema, earlierSchema, laterSchema]);

/** What deliver writes. An event with a reason of a later version is not sent. */
export const healthSchemas = {
  disabled: disabledSchema.exactOptional(),
  failing: z
    .object({ since: z.number(), failures: z.number(), countedAt: z.number().exactOptional() })
    .exactOptional(),
  unsent: z.object({ event: streakEventSchema, at: z.number() }).exactOptional(),
  unsentEvent: z.object({ event: laterEventSchema, at: z.number() }).optional().catch(undefined),
  pressure: pressureSchema.optional().catch(undefined),
};

/**
 * The attributes of an event to send. Version 0.1.0 refuses records with unknown events in `unsent`, and ignores
 * `unsentEvent`. Each has at most one.
 */
export const UNSENT_ATTRIBUTES = ['unsent', 'unsentEvent'] as const;

export function unsentAttributeOf({ event }: PendingEvent): (typeof UNSENT_ATTRIBUTES)[number] {
  switch (event.type) {
    case 'subscription.slowed':
    case 'subscription.resumed':
    case 'subscription.certificate_expiring':
      return 'unsentEvent';
    case 'subscription.disabled':
    case 'subscription.failing':
    case 'subscription.recovered':
      return 'unsent';
  }
}

/** `unsent` under the name of its attribute. */
export function unsentItemOf(unsent: PendingEvent | undefined): Record<string, PendingEvent> {
  return unsent === undefined ? {} : { [unsentAttributeOf(unsent)]: unsent };
}

type Decoded = {
  unsent: PendingEvent | undefined;
  unsentEvent?: PendingEvent | undefined;
  pressure?: Pressure | undefined;
};

/** The fields of the subscription. Of two events, the older version's comes first. */
export function pressureFieldsOf({
  unsent: earlier,
  unsentEvent,
  pressure,
}: Decoded): Pick<Subscription, 'unsent' | 'pressure'> {
  const unsent = earlier ?? unsentEvent;
  return { ...(unsent && { unsent }), ...(pressure && { pressure }) };
}
