import * as z from 'zod';

/** A name or key that a job carries. Ours are ASCII; DynamoDB refuses longer ones, and halves of surrogate pairs. */
export const storedName = z.string().regex(/^[\x20-\x7e]{1,1024}$/);

/** Since the epoch, as a Date can hold it (ECMA-262, "Time Values and Time Range"). DynamoDB refuses tiny numbers. */
export const storedMilliseconds = z
  .number()
  .nonnegative()
  .max(8.64e15)
  .refine((at) => at === 0 || at >= 1);
