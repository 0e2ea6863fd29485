import * as z from 'zod';

/** Control characters and non-characters: what SQS or a header could not carry. */
const PRINTABLE = /^[^\u0000-\u001f\u007f-\u009f\ufffe\uffff]*$/u;

const LONE_SURROGATE = /\p{Cs}/u;

export const printable = (maxLength: number) => {
  const rule = `must be text of 1 to ${maxLength} characters without control characters`;
  return z
    .string(rule)
    .min(1, rule)
    .max(maxLength, rule)
    .regex(PRINTABLE, rule)
    .refine((text) => !LONE_SURROGATE.test(text), rule);
};

/** The type of a message. */
export const messageType = printable(256);
