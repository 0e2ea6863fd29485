import { isIngressAttribute } from './ingress-message.ts';

/** Most attributes of one message (Amazon SQS message quotas). */
const MAX_ATTRIBUTES = 10;

/** As many of the sender's attributes as there is room for beside ours; those that dispatch reads go first. */
export const withOurs = <Value>(
  theirs: Readonly<Record<string, Value>>,
  ours: Readonly<Record<string, Value>>,
): Record<string, Value> => {
  const kept = Object.entries(theirs)
    .filter(([name]) => !Object.hasOwn(ours, name))
    .toSorted(([one], [other]) => Number(isIngressAttribute(other)) - Number(isIngressAttribute(one)))
    .slice(0, MAX_ATTRIBUTES - Object.keys(ours).length);
  return { ...Object.fromEntries(kept), ...ours };
};
