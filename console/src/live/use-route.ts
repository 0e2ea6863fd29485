import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route } from '../route.ts';

/** The route in the address, updated when it changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => {
      setHash(location.hash);
    };
    addEventListener('hashchange', follow);
    return () => {
      removeEventListener('hashchange', follow);
    };
  }, []);
  return parseRoute(hash);
}
