import { postMessages } from '../../../api-client/operations.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import type { RefusedLine } from './batches.ts';
import type { OutgoingMessage } from './message-line.ts';

export type BatchResult = { published: { line: number; id: string }[]; refused: RefusedLine[] };

/**
 * Publishes a batch. The API accepts all messages or none, and names the invalid ones; the rest is sent again without
 * them.
 * @throws ApiRefusal for refusals that name no message; Problem when there is no response
 */
export async function postBatch(
  api: ApiClient,
  queue: string,
  batch: readonly OutgoingMessage[],
): Promise<BatchResult> {
  let left = batch;
  const refused: RefusedLine[] = [];
  while (left.length > 0) {
    try {
      const body = `{"messages":[${left.map(({ text }) => text).join(',')}]}`;
      const { ids } = await api.call(postMessages, { path: { queue }, body });
      return { published: left.flatMap(({ line }, index) => pairOf(line, ids[index])), refused };
    } catch (error) {
      const faults = error instanceof ApiRefusal ? faultsByMessage(error) : new Map<number, string>();
      const isNamed = (index: number): boolean => faults.has(index);
      if (!left.some((_, index) => isNamed(index))) throw error;
      refused.push(
        ...left.flatMap(({ line }, index) => {
          const why = faults.get(index);
          return why === undefined ? [] : [{ kind: 'refused' as const, line, why }];
        }),
      );
      left = left.filter((_, index) => !isNamed(index));
    }
  }
  return { published: [], refused };
}

function pairOf(line: number, id: string | undefined): { line: number; id: string }[] {
  return id === undefined ? [] : [{ line, id }];
}

/** Faults by index in the batch: `messages[3].ttl` belongs to the fourth message. */
function faultsByMessage({ fields }: ApiRefusal): Map<number, string> {
  const faults = new Map<number, string>();
  for (const { field, message } of fields) {
    const [, index, name = 'message'] = /^messages\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    if (index === undefined) continue;
    const before = faults.get(Number(index));
    const shown = name === 'body' ? 'data' : name;
    faults.set(Number(index), `${before === undefined ? '' : `${before}; `}${shown} ${message}`);
  }
  return faults;
}
