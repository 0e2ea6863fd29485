import { InvalidArgumentError } from 'commander';
import type { FieldError } from '../../shared/domain/errors.ts';
import { WHOLE_POLICY, parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import { type PartialRetryPolicy, isPresetName, unknownPreset } from '../../shared/domain/retry/policy.ts';
import { jsonObjectOf } from './arguments.ts';
import { parsedJson } from './json-text.ts';

export type PolicyRefusal = { code: 'invalid_json' | 'invalid_retry_policy'; fields: FieldError[] };

export type GivenPolicy = { policy?: PartialRetryPolicy; refusal?: PolicyRefusal };

/** Parses a policy given as JSON or by the name of a preset. `prefix` is put before field names in errors. */
export function givenPolicy(text: string | undefined, prefix: string): GivenPolicy {
  if (text === undefined) return {};
  const json = WORD.test(text) ? { ok: true as const, value: text } : parsedJson(text);
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

/** The source text of a policy for the API, which checks it: a JSON object, or the name of a preset as JSON text. */
export function policyOf(text: string): string {
  if (isPresetName(text)) return JSON.stringify(text);
  if (WORD.test(text)) throw new InvalidArgumentError(`${unknownPreset(text)}.`);
  return jsonObjectOf(text);
}

const WORD = /^[A-Za-z][\w-]*$/;
