import { test } from 'vitest';
import { apiUnderTest, apiWithOrders } from './api-under-test.ts';

export * from './api-under-test.ts';

/** A test with a new API, and with each of its parts by name. */
export const it = test
  .extend('api', () => apiUnderTest())
  .extend('call', ({ api }) => api.call)
  .extend('get', ({ api }) => api.get)
  .extend('pages', ({ api }) => api.pages)
  .extend('nextOf', ({ api }) => api.nextOf)
  .extend('subscribe', ({ api }) => api.subscribe)
  .extend('patch', ({ api }) => api.patch)
  .extend('stored', ({ api }) => api.stored)
  .extend('dependencies', ({ api }) => api.dependencies)
  .extend('world', ({ api }) => api.world)
  .extend('time', ({ api }) => api.time)
  .extend('registry', ({ api }) => api.registry)
  .extend('messageRecords', ({ api }) => api.messageRecords)
  .extend('deliveries', ({ api }) => api.deliveries)
  .extend('secrets', ({ api }) => api.secrets)
  .extend('recoveries', ({ api }) => api.recoveries)
  .extend('operatorEvents', ({ api }) => api.operatorEvents)
  .extend('queued', ({ api }) => api.queued)
  .extend('published', ({ api }) => api.published)
  .extend('jobs', ({ api }) => api.jobs)
  .extend('wakeUps', ({ api }) => api.wakeUps)
  .extend('changes', ({ api }) => api.changes)
  .extend('faults', ({ api }) => api.faults);

/** A test with a new API that has the queue `orders`. */
export const itWithOrders = it.extend('api', () => apiWithOrders());
