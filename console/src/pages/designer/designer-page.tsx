import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  DEFAULT_RETRY_POLICY,
  isPresetName,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { type Retry, retrySchedule, totalSeconds } from '../../../../shared/domain/retry/schedule.ts';
import { POLICY_PRESETS, type PresetName } from '../../../../shared/domain/retry/vocabulary.ts';
import { useConsole } from '../../live/console-context.tsx';
import { type Action, useAction } from '../../live/use-action.ts';
import { ActionFailure, Notice } from '../../parts/notice.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import type { Query } from '../../route.ts';
import { ApplyPolicy, type PolicyOwner, storedPolicy } from './apply-policy.tsx';
import {
  type Draft,
  draftOf,
  EMPTY_DRAFT,
  faultsOf,
  presetOf,
  SNS_EXAMPLE,
  validateDraft,
  type Validation,
} from './draft.ts';
import { PolicyControls } from './policy-controls.tsx';
import { runningTotal, ScheduleCharts } from './schedule-charts.tsx';

/** Edits the fields of a policy and shows the resulting schedule. */
export function DesignerPage({ query: { queue = '', subscription } }: { query: Query }) {
  const requested = useMemo(
    (): PolicyOwner => ({ queue, ...(subscription !== undefined && { subscription }) }),
    [queue, subscription],
  );
  const { draft, validation, drawn, faults, change, refuse, loading } = useDesign(requested);
  const fault = faults.get('_retry_policy');
  return (
    <>
      <PageHeading title="Policy designer">
        <PresetChoice
          chosen={validation.ok ? presetOf(validation.complete) : undefined}
          onChoose={(name) => {
            change(draftOf(RETRY_POLICY_PRESETS[name]));
          }}
        />
        <DraftButton text="Example: 10 retries, 5 to 260 s" draft={SNS_EXAMPLE} onBegin={change} />
        <DraftButton text="Reset to the defaults" draft={EMPTY_DRAFT} onBegin={change} />
      </PageHeading>
      <ActionFailure of={loading} />
      <PolicyControls
        draft={draft}
        faults={faults}
        onChange={(field, text) => {
          change({ ...draft, [field]: text });
        }}
      />
      {fault === undefined ? null : <Notice tone="danger" title={`The policy ${fault}`} />}
      <Section title="Schedule">
        <ScheduleSum policy={drawn} stale={!validation.ok} />
        <ScheduleCharts policy={drawn} />
        <ScheduleTable policy={drawn} />
      </Section>
      <div class="columns">
        <Section title="JSON">
          <p class="muted">For the metadata of a queue or the options of a subscription.</p>
          <SourceText text={jsonOf(validation)} what="the policy" />
        </Section>
        <Section title="Apply the policy">
          <ApplySection
            validation={validation}
            requested={requested}
            onRefused={(fields) => {
              refuse(faultsOf(fields));
            }}
          />
        </Section>
      </div>
    </>
  );
}

function jsonOf(validation: Validation): string {
  return validation.ok ? JSON.stringify({ _retry_policy: validation.policy }, null, 2) : '–';
}

function PresetChoice({
  chosen,
  onChoose,
}: {
  chosen: PresetName | undefined;
  onChoose: (name: PresetName) => void;
}) {
  return (
    <label>
      <span class="unseen">Preset</span>
      <select
        value={chosen ?? ''}
        onChange={({ currentTarget: { value } }) => {
          if (isPresetName(value)) onChoose(value);
        }}
      >
        <option value="" disabled>
          Preset: none
        </option>
        {POLICY_PRESETS.map((name) => (
          <option key={name} value={name}>
            Preset: {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function DraftButton({
  text,
  draft,
  onBegin,
}: {
  text: string;
  draft: Draft;
  onBegin: (draft: Draft) => void;
}) {
  return (
    <button
      type="button"
      class="button"
      onClick={() => {
        onBegin(draft);
      }}
    >
      {text}
    </button>
  );
}

function ApplySection({
  validation,
  requested,
  onRefused,
}: {
  validation: Validation;
  requested: PolicyOwner;
  onRefused: (fields: readonly { field: string; message: string }[]) => void;
}) {
  const { info } = useConsole();
  if (info?.deployment === null)
    return (
      <p class="muted">
        There is no deployment to apply the policy to. The rest of this page works without one.
      </p>
    );
  return (
    <ApplyPolicy
      policy={validation.ok ? validation.policy : undefined}
      requested={requested}
      onRefused={onRefused}
    />
  );
}

/** How many requests a delivery makes at most, and over which time. `stale`: the controls contain an error. */
function ScheduleSum({ policy, stale }: { policy: RetryPolicy; stale: boolean }) {
  const retries = retrySchedule(policy).length;
  return (
    <p class={stale ? 'sum sum-stale' : 'sum'} aria-live="polite">
      <span>
        <strong data-sum="requests">{retries + 1}</strong> {retries === 0 ? 'request' : 'requests'}
      </span>{' '}
      <span>
        over <strong data-sum="time">{durationText(totalSeconds(policy) * 1000)}</strong>
      </span>
      {policy.jitter === 'none' ? null : (
        <span class="muted"> at most: jitter ({policy.jitter}) makes delays shorter</span>
      )}
      {stale ? <span class="muted"> before the last change, which has errors</span> : null}
    </p>
  );
}

type Row = Retry & { totalSeconds: number };

/** The schedule as a table. */
function ScheduleTable({ policy }: { policy: RetryPolicy }) {
  const retries = retrySchedule(policy);
  const totals = runningTotal(retries.map(({ delaySeconds }) => delaySeconds));
  return (
    <details>
      <summary>Schedule as a table</summary>
      <Table
        caption="Retries, their delays, and the time since the first attempt"
        columns={COLUMNS}
        rows={retries.map((retry, index): Row => ({ ...retry, totalSeconds: totals[index] ?? 0 }))}
        keyOf={({ retry }) => String(retry)}
      />
    </details>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'Retry', numeric: true, cell: ({ retry }) => retry },
  { head: 'Phase', wide: true, cell: ({ phase }) => phase.replace('_', ' ') },
  { head: 'Delay', numeric: true, cell: ({ delaySeconds }) => durationText(delaySeconds * 1000) },
  {
    head: 'Since the first attempt',
    numeric: true,
    cell: ({ totalSeconds }) => durationText(totalSeconds * 1000),
  },
];

type Faults = ReadonlyMap<string, string>;

const NO_FAULTS: Faults = new Map();

type Design = {
  draft: Draft;
  validation: Validation;
  /** The policy to draw: the last valid one. */
  drawn: RetryPolicy;
  /** Errors by field: of the draft, or else those that the API reported. */
  faults: Faults;
  change: (draft: Draft) => void;
  refuse: (faults: Faults) => void;
  loading: Action<void>;
};

/** The state of the designer. It starts with the owner's stored policy, if there is one. */
function useDesign(owner: PolicyOwner): Design {
  const { api } = useConsole();
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [refused, refuse] = useState(NO_FAULTS);
  const validation = useMemo(() => validateDraft(draft), [draft]);
  const drawn = useRef<RetryPolicy>(DEFAULT_RETRY_POLICY);
  if (validation.ok) drawn.current = validation.complete;
  const change = (next: Draft): void => {
    refuse(NO_FAULTS);
    setDraft(next);
  };
  const { action, run } = useAction(async () => {
    const policy = await storedPolicy(api, owner);
    if (policy !== undefined) change(draftOf(policy));
  });
  const { queue, subscription } = owner;
  useEffect(() => {
    if (queue !== '') run();
  }, [queue, subscription, run]);
  const faults = validation.ok ? refused : validation.faults;
  return { draft, validation, drawn: drawn.current, faults, change, refuse, loading: action };
}
