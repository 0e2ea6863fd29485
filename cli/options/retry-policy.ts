import type { FieldError } from '../../shared/domain/errors.ts';
import { WHOLE_POLICY } from '../../shared/domain/retry/policy-limits.ts';
import { parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';

export type PolicyRefusal = { code: 'invalid_json' | 'invalid_retry_policy'; fields: FieldError[] };

export type GivenPolicy = { policy?: PartialRetryPolicy; refusal?: PolicyRefusal };

/** Parses a policy given as JSON. `prefix` is put before field names in errors. */
export function givenPolicy(text: string | undefined, prefix: string): GivenPolicy {
  if (text === undefined) return {};
  const json = parseJson(text);
  if (!json.ok) {
    return {
      refusal: { code: 'invalid_json', fields: [{ field: prefix + WHOLE_POLICY, message: json.message }] },
    };
  }
  const parsed = parseRetryPolicy(json.value);
  if (parsed.ok) return { policy: parsed.policy };
  const fields = parsed.fields.map(({ field, message }) => ({ field: prefix + field, message }));
  return { refusal: { code: 'invalid_retry_policy', fields } };
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
