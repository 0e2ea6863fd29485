import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** A context that is missing only by mistake: its provider, and the hook that reads it. */
export function requiredContext<Value>(name: string) {
  const context = createContext<Value | undefined>(undefined);
  const read = (): Value => {
    const found = useContext(context);
    if (found === undefined) throw new Error(`${name} outside of its provider`);
    return found;
  };
  return [context.Provider, read] as const;
}
