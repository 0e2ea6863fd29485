import type * as z from 'zod';
import { type EventType, eventTypeSchema } from '../../domain/event-type/event-type.ts';
import { timeText, timeView } from '../fields.ts';

/** A type of the catalogue in the API. */
export const eventTypeViewSchema = eventTypeSchema
  .omit({ createdAt: true, changedAt: true })
  .extend({ created_at: timeView, changed_at: timeView });

export type EventTypeView = z.infer<typeof eventTypeViewSchema>;

export function eventTypeView({ createdAt, changedAt, ...type }: EventType): EventTypeView {
  return { ...type, created_at: timeText(createdAt), changed_at: timeText(changedAt) };
}
