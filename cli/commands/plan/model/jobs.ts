import { bucketsFor, chunksFor } from '../../../../shared/domain/delivery/fan-out.ts';
import type { Work } from './work.ts';

/** The jobs for the first attempts of a message, on average. */
export type Jobs = {
  /** Jobs for several deliveries, and how many these are together. */
  chunks: number;
  members: number;
  /** Jobs for one delivery. */
  singles: number;
  /** How many members a chunk has: with which share of the chunks. */
  sizes: readonly { members: number; share: number }[];
};

type Divided = Pick<Work, 'messages' | 'fanOut' | 'firstAttemptsPerJob' | 'groups'>;

/** As dispatch divides them (functions/dispatch/first-jobs.ts). */
export function jobsOf({ messages, fanOut, firstAttemptsPerJob, groups }: Divided): Jobs {
  const apart = groups.reduce((total, group) => total + group.deliveries * group.apart, 0) / messages;
  const members = fanOut - apart;
  const buckets = bucketsFor(fanOut);
  const inBucket = chunksFor(members, buckets, firstAttemptsPerJob);
  if (inBucket === undefined) return { chunks: 0, members: 0, singles: fanOut, sizes: [] };
  const places = buckets * inBucket;
  const sizes = sizesOf(members, places);
  return {
    chunks: sizes.reduce((total, { share }) => total + share, 0) * places,
    members,
    singles: apart,
    sizes: proportional(sizes),
  };
}

/**
 * Members are placed by a hash, so the size of a chunk is distributed binomially; one that is empty is none. Sizes far
 * beyond the mean are as good as never.
 */
function sizesOf(members: number, places: number): Jobs['sizes'] {
  if (places === 1) return [{ members, share: 1 }];
  const trials = Math.round(members);
  const most = Math.min(trials, Math.ceil((4 * members) / places) + 20);
  let share = (1 - 1 / places) ** trials;
  const sizes = [];
  for (let size = 1; size <= most; size += 1) {
    share *= (trials - size + 1) / size / (places - 1);
    sizes.push({ members: size, share });
  }
  return sizes;
}

function proportional(sizes: Jobs['sizes']): Jobs['sizes'] {
  const all = sizes.reduce((total, { share }) => total + share, 0);
  return sizes.map(({ members, share }) => ({ members, share: share / all }));
}
