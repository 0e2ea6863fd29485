import * as z from 'zod';
import { CAPABILITIES } from '../../domain/portal/vocabulary.ts';
import { timeView } from '../fields.ts';

/** Of each request of the page. A cookie would be lost in a frame of another site. */
export const SESSION_HEADER = 'posthaste-portal-session';

/** A new link to the portal. No later response contains it. */
export const portalLinkSchema = z.object({
  url: z.string().describe('Opens the page once.'),
  session_id: z.string(),
  expires_at: timeView.describe('Until when the link can be opened.'),
});

/** A session of the portal, by the API. */
export const portalSessionSchema = z.object({
  /** Sent with each request. Only in the response that opens the link. */
  session: z.string().exactOptional(),
  /** Of the role that the portal assumes. */
  session_name: z.string(),
  queue: z.string(),
  capabilities: z.array(z.enum(CAPABILITIES)),
  /** The event types that endpoints may choose. Absent: all. */
  event_types: z.array(z.string()).exactOptional(),
  expires_at: timeView,
  title: z.string(),
  accent: z.string().exactOptional(),
  limits: z.object({
    endpoints: z.int(),
    hosts: z.array(z.string()).exactOptional(),
    per_second: z.number().exactOptional(),
  }),
  /** Whether attempts show the beginning of the response body. */
  response_bodies: z.boolean(),
});

/** The same as the page gets it. */
export const pageSessionSchema = portalSessionSchema.extend({
  /** The origins of pages that may show the page in a frame, and get its height. */
  frame_ancestors: z.array(z.string()),
});
