import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

export type FieldParts = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean };

/** A labelled control with a hint and an error. */
export function Field({
  label,
  hint,
  fault,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  children: (parts: FieldParts) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const described = [fault === undefined ? '' : `${id}-fault`, hint === undefined ? '' : `${id}-hint`];
  const describedBy = described.join(' ').trim();
  return (
    <div class={fault === undefined ? 'field' : 'field field-faulty'}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': fault !== undefined,
      })}
      {fault === undefined ? null : (
        <p id={`${id}-fault`} class="field-fault">
          {fault}
        </p>
      )}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}
