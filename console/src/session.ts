const KEY = 'posthaste-token';

/**
 * The token that the command put behind the `#` of the link it opened, which no server and no log sees. It is kept for
 * this tab, so that reloading works, and taken off the address, so that a copied address does not hold it.
 */
export function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.replace(/^#/, '')).get('token');
  if (given === null) return sessionStorage.getItem(KEY) ?? undefined;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', `${location.pathname}#/`);
  return given;
}
