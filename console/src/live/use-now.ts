import { useEffect, useState } from 'preact/hooks';

/** Milliseconds since the epoch, once a second: for what is said relative to now. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, 1000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return now;
}
