import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Catalogue } from './event-types.ts';
import type { Capability } from '../../shared/domain/portal/vocabulary.ts';
import type { PortalSession } from './session.ts';

export type PortalContext = PortalSession & {
  can: (capability: Capability) => boolean;
  /** The event types that the customer may see, without schemas and examples. Undefined until they have loaded. */
  catalogue: Catalogue | undefined;
};

const Context = createContext<PortalContext | undefined>(undefined);

export const PortalProvider = Context.Provider;

export function usePortal(): PortalContext {
  const found = useContext(Context);
  if (found === undefined) throw new Error('usePortal outside of PortalProvider');
  return found;
}
