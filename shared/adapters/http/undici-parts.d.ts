/**
 * The parts of undici that are used. Its main file loads all of it (fetch, caches, proxies, mocks): half of the deliver
 * function, evaluated at every cold start.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';
  export default Client;
}

declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';
  export default errors;
}
