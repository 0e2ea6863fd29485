import type { Catalogue } from './event-types.ts';
import type { Loading } from '../../console/src/live/use-live.ts';
import type { Capability } from '../../shared/domain/portal/vocabulary.ts';
import type { PortalSession } from './session.ts';
import { requiredContext } from '../../console/src/live/context.ts';

export type PortalContext = PortalSession & {
  can: (capability: Capability) => boolean;
  /** The event types that the customer may see, without schemas and examples. */
  catalogue: Loading<Catalogue>;
};

export const [PortalProvider, usePortal] = requiredContext<PortalContext>('usePortal');
