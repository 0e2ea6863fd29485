import * as z from 'zod';

/** Of a query; false where it is left out. In any case of letters, because Zaqar's own client writes what Python prints. */
export const flag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false'], 'must be true or false'))
  .default('false')
  .transform((text) => text === 'true')
  .meta({ override: { type: 'boolean', default: false } });
